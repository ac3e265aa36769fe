

	
provider	"registry.opentofu.org/corp/thing"   {


	version="1.0.0"

   constraints   =    ""
 hashes=["zh:b","h1:a",

"h1:a"]

}   
 
provider "aaa.example/a/b" { version = "1.0.0" }