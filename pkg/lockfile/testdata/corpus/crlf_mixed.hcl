# one
# two
provider "registry.opentofu.org/corp/thing" { # x
  version = "1.0.0"
  hashes = [
    "h1:a",
  ]
}

