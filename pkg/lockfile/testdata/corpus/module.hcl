module "first" {
  anything = [for x in var.y : x]
  nested "a" "b" {}
}

provider "registry.opentofu.org/corp/thing" {
  version = "1.0.0"
  hashes = [
    "h1:a",
  ]
}

module "second" {} # beside
provider "zzz.example/a/b" { version = "1.0.0" }
module "third" {}
