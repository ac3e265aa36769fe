//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
)

// findNginx returns the path of nginx. If nginx is missing, it tries to install it.
func findNginx(ctx context.Context) (string, error) {
	const sbin = "/usr/sbin/nginx" // often not in PATH
	if path, err := exec.LookPath("nginx"); err == nil {
		return path, nil
	}
	if _, err := os.Stat(sbin); err == nil {
		return sbin, nil
	}
	if os.Getuid() != 0 {
		return "", fmt.Errorf("nginx is missing: install it, or run make %s as root on Debian", target)
	}
	for _, args := range [][]string{{"update"}, {"install", "--yes", "--no-install-recommends", "nginx-light"}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		// Do not start the server that the package installs.
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("installing nginx: %w\n%s", err, out)
		}
	}
	return sbin, nil
}

// nginxConfig contains the relevant settings of the Debian package: one worker per
// core, sendfile, and a cache of open files. Logging is disabled in both nginx and
// tofu-oci.
const nginxConfig = `daemon off;
worker_processes auto;
pid DIR/pid;
error_log stderr;
USER
events { worker_connections 768; }
http {
  access_log DIR/access.log;
  default_type application/zip;
  sendfile on;
  tcp_nopush on;
  client_body_temp_path DIR/body;
  proxy_temp_path DIR/proxy;
  fastcgi_temp_path DIR/fastcgi;
  uwsgi_temp_path DIR/uwsgi;
  scgi_temp_path DIR/scgi;
  server {
    listen HOST ssl http2;
    ssl_certificate CERT/cert.pem;
    ssl_certificate_key CERT/key.pem;
    ssl_protocols TLSv1.2 TLSv1.3;
    root DIR/files;
  }
}
`

// fileOfNginx is the archive's file name on the nginx server.
const fileOfNginx = "archive.zip"

func (w *world) nginxDir() string { return filepath.Join(w.dir, "nginx") }

// forNginx writes the archive to the directory that nginx serves.
func (w *world) forNginx(content []byte) error {
	files := filepath.Join(w.nginxDir(), "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(files, fileOfNginx), content, 0o644)
}

// startNginx starts nginx with the layout server's certificate.
func (w *world) startNginx(ctx context.Context) error {
	host, err := fixture.FreeAddress(ctx)
	if err != nil {
		return err
	}
	user := ""
	if os.Getuid() == 0 {
		user = "user root;" // the directory belongs to root
	}
	config := strings.NewReplacer("DIR", w.nginxDir(), "HOST", strings.Replace(host, "localhost", "127.0.0.1", 1), "CERT", filepath.Join(w.dir, "of-layout"), "USER", user).Replace(nginxConfig)
	file := filepath.Join(w.nginxDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(w.nginxDir(), "log"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, w.nginx, "-c", file, "-p", w.nginxDir())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // also stops the workers
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	w.stops = append(w.stops, func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		_ = log.Close()
	})
	w.nginxURL = "https://" + host + "/" + fileOfNginx
	if err := fixture.Answers(ctx, w.nginxURL, w.ca, ended); err != nil {
		out, _ := os.ReadFile(log.Name())
		return fmt.Errorf("starting nginx: %w\n%s", err, out)
	}
	return nil
}
