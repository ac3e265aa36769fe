module github.com/tofu-oci/tofu-oci/e2e

go 1.26.0

replace github.com/tofu-oci/tofu-oci => ../

require (
	github.com/ProtonMail/go-crypto v1.5.2
	github.com/opencontainers/go-digest v1.0.0
	github.com/tofu-oci/tofu-oci v0.0.0-00010101000000-000000000000
	golang.org/x/crypto v0.58.0
)

require (
	github.com/apparentlymart/go-versions v1.0.3 // indirect
	github.com/cloudflare/circl v1.6.3 // indirect
	github.com/hashicorp/terraform-registry-address v0.5.1 // indirect
	github.com/hashicorp/terraform-svchost v0.2.1 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
