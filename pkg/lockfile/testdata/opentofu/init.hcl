# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "1.example/n/t" {
  version = "1.0.0+build.5"
  hashes = [
    "h1:IUxkL80vwAwrSZD9YThR0mwPlgZTouNIPhMWdQKqdKg=",
  ]
}

provider "example.com/ünicode/тип" {
  version     = "10.20.30"
  constraints = "> 1.2.0, ~> 10.0, != 10.20.1-rc1, != 10.20.1-rc.2+x, ~> 10.20.1"
  hashes = [
    "h1:ul+qrmnal70sHqlGdGcJQ9jvfN9mYWCqjisKEGCQtdY=",
  ]
}

provider "registry.opentofu.org/corp/thing" {
  version     = "2.4.1"
  constraints = "~> 2.0"
  hashes = [
    "h1:Glk5jefnTvziAH22EezKfPjoq9Xux4Z2gu0JpKtYtw0=",
  ]
}

provider "registry.opentofu.org/hashicorp/aws" {
  version     = "5.64.0"
  constraints = ">= 5.0.0, < 6.0.0"
  hashes = [
    "h1:rHz31eCtQ9CC2B1DX99TZuevWA5ON5S6XddvfqlLRR8=",
  ]
}

provider "registry.opentofu.org/hashicorp/null" {
  version = "3.2.3"
  hashes = [
    "h1:zHRGfYE4BYFTlgxAt+IcaZkuVVDZIDMEjPyDkK6Vs7g=",
  ]
}

provider "registry.terraform.io/hashicorp/random" {
  version     = "3.6.2"
  constraints = "~> 3.6.1"
  hashes = [
    "h1:ZE19kHy+Hvf8lSwOtMMtopx/PpYU16Z93eZe7B8wBVM=",
  ]
}

provider "bücher.example/straße/thing" {
  version     = "1.0.3-beta+m"
  constraints = "1.0.3-beta+m"
  hashes = [
    "h1:73cLBaAGsZm5O/0zwLxr1yS1zaJaeeAIcWOSDP4e6LU=",
  ]
}

provider "bücher.example:8443/a/zz" {
  version     = "1.0.4"
  constraints = "> 0.9.0, >= 1.0.0, ~> 1.0, >= 1.0.1, <= 1.0.4, != 1.0.5, < 3.0.0"
  hashes = [
    "h1:9BkhLCzSi/Pc3VFId0ENdJDEVzsphHgffOs4nyll92o=",
  ]
}

provider "zzz.example/corp/thing" {
  version     = "0.1.0"
  constraints = "0.1.0"
  hashes = [
    "h1:2YufNZGRSGl5Pk/yaPQFd/lyyFNvIYmyde3JU7vyq60=",
  ]
}
