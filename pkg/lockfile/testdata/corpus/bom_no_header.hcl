provider "registry.opentofu.org/corp/thing" {
  version = "1.0.0"
  hashes = [
    "h1:a",
  ]
}
