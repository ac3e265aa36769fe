# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/aws" {
  version     = "5.64.0"
  constraints = "~> 5.0, != 5.10.0"
  hashes = [
    "h1:1HNeOiZeFu7gP1lxi5tdAwGcB9i2xR+Q2jpmbuwTqzU=",
    "h1:X+zrZv/IbzjZUnhsbWlsecLbwjndTpG0ZynXOif7V+k=",
    "h1:a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s=",
    "zh:19581e27de7ced00ff1ce50b2047e7a567c76b1cbaebabe5ef03f7c3017bb5b7",
    "zh:2c624232cdd221771294dfbb310aca000a0df6ac8b66b696d90ef06fdefb64a3",
    "zh:3fdba35f04dc8c462986c992bcf875546257113072a909c162f7e470e581e278",
    "zh:4a44dc15364204a80fe80e9039455cc1608281820fe2b24f1e5233ade6af1dd5",
    "zh:4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a",
    "zh:4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce",
    "zh:4fc82b26aecb47d2868c4efbe3581732a3e7cbcc6c2efb32062c08170a05eeb8",
    "zh:5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
    "zh:6b51d431df5d7f141cbececcf79edf3dd861c3b4069f0b11661a3eefacbba918",
    "zh:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
    "zh:7902699be42c8a8e46fbbb4501726517e86b22c56a189f7625a6da49081b2451",
    "zh:8527a891e224136950ff32ca212b45bc93f69fbb801c3b1ebedac52775f99e61",
    "zh:d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35",
    "zh:e7f6c011776e8db7cd330b54174fd76f7d0216b612387a5ffcfb81e6f0919683",
    "zh:ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d",
  ]
}

provider "registry.opentofu.org/hashicorp/tls" {
  version = "4.0.5"
}

provider "registry.opentofu.org/integrations/github" {
  version     = "6.2.3"
  constraints = "6.2.3"
  hashes = [
    "h1:x",
    "h2:$${y} \"z\" %%{a} \\",
    "zh:y",
  ]
}
