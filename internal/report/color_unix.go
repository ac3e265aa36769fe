//go:build !windows

package report

import "os"

func enableColors(*os.File) bool { return true }
