provider "registry.opentofu.org/corp/thing" {
  version = true ? "1.${"0"}.0" : "2.0.0"
  constraints = (">= 1.0.0")
  hashes = [
    <<EOT
h1:a
EOT
    , "zh:${"b"}", (
      # within
      "zh:c"
    ),
  ]
}
