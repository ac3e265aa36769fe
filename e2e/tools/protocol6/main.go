// Command protocol6 is a provider that uses plugin protocol 6 (hashicorp/time uses
// protocol 5). It defines one resource, two data sources, one function, and one
// ephemeral resource.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	ephemeralschema "github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return six{} }, providerserver.ServeOpts{
		Address: "registry.example/acme/six", ProtocolVersion: 6,
	})
	if err != nil {
		log.Fatal(err)
	}
}

// six implements the provider.
type six struct{}

func (six) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "six"
}

func (six) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (six) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (six) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return thing{} }}
}

func (six) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return reading{"a"} },
		func() datasource.DataSource { return reading{"b"} },
	}
}

func (six) Functions(context.Context) []func() function.Function {
	return []func() function.Function{func() function.Function { return double{} }}
}

func (six) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{func() ephemeral.EphemeralResource { return moment{} }}
}

// thing is a resource that is never created.
type thing struct{}

func (thing) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "six_thing"
}

func (thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = resourceschema.Schema{Attributes: map[string]resourceschema.Attribute{"name": resourceschema.StringAttribute{Required: true}}}
}

func (thing) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}
func (thing) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (thing) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}
func (thing) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// reading is a data source.
type reading struct{ name string }

func (r reading) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "six_" + r.name
}

func (reading) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = dataschema.Schema{Attributes: map[string]dataschema.Attribute{"name": dataschema.StringAttribute{Computed: true}}}
}

func (reading) Read(context.Context, datasource.ReadRequest, *datasource.ReadResponse) {}

// double is a function.
type double struct{}

func (double) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "double"
}

func (double) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{Parameters: []function.Parameter{function.Int64Parameter{Name: "of"}}, Return: function.Int64Return{}}
}

func (double) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var of int64
	if resp.Error = req.Arguments.Get(ctx, &of); resp.Error == nil {
		resp.Error = resp.Result.Set(ctx, 2*of)
	}
}

// moment is an ephemeral resource.
type moment struct{}

func (moment) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = "six_moment"
}

func (moment) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = ephemeralschema.Schema{Attributes: map[string]ephemeralschema.Attribute{"name": ephemeralschema.StringAttribute{Computed: true}}}
}

func (moment) Open(context.Context, ephemeral.OpenRequest, *ephemeral.OpenResponse) {}
