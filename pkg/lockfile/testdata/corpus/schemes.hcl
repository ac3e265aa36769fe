
provider "registry.opentofu.org/corp/thing" {
  version = "1.0.0"
  hashes = [
    "blake3:0000",
    "h1:a",
    "h2:$${1+1}",
    "x-y z:  ",
    "zh:A",
  ]
}
