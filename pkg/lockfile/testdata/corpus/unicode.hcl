
provider "bücher.example:8443/straße/тип" {
  version = "1.0.0-beta.2+e"
  hashes = [
    "h1:日本",
  ]
}

provider "例え.example/a/b" {
  version = "0.0.0"
}
