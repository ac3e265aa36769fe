package launch

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// methods maps each protocol version to the method that returns the schema. The
// responses have the same fields, which are defined by GetProviderSchema.Response in
// tfplugin5.proto and tfplugin6.proto.
var methods = map[int]string{
	5: "/tfplugin5.Provider/GetSchema",
	6: "/tfplugin6.Provider/GetProviderSchema",
}

// Field numbers of GetProviderSchema.Response and of Diagnostic.
const (
	fieldResources          = 2
	fieldDataSources        = 3
	fieldDiagnostics        = 4
	fieldFunctions          = 7
	fieldEphemeralResources = 8

	fieldSeverity = 1
	fieldSummary  = 2
	fieldDetail   = 3
	severityError = 1
)

// askSchema requests the schema and counts its objects.
func askSchema(ctx context.Context, conn grpc.ClientConnInterface, r *Report) error {
	// An empty message stores all fields as unknown fields.
	var response emptypb.Empty
	if err := conn.Invoke(ctx, methods[r.Protocol], &emptypb.Empty{}, &response); err != nil {
		return err
	}
	return eachField(response.ProtoReflect().GetUnknown(), func(number protowire.Number, value []byte) error {
		switch number {
		case fieldResources:
			r.Resources++
		case fieldDataSources:
			r.DataSources++
		case fieldFunctions:
			r.Functions++
		case fieldEphemeralResources:
			r.EphemeralResources++
		case fieldDiagnostics:
			return diagnose(value)
		}
		return nil
	})
}

// diagnose returns an error if the diagnostic is an error.
func diagnose(diagnostic []byte) error {
	var severity uint64
	var texts []string
	err := eachField(diagnostic, func(number protowire.Number, value []byte) error {
		switch number {
		case fieldSeverity:
			severity, _ = protowire.ConsumeVarint(value)
		case fieldSummary, fieldDetail:
			if text := short(string(value[:min(len(value), maxText)])); text != "" {
				texts = append(texts, text)
			}
		}
		return nil
	})
	if err != nil || severity != severityError {
		return err
	}
	return fail(Schema, "the provider could not send its schema: %s", strings.Join(texts, ": "))
}

// eachField calls visit for each field of a message. The arguments are the field's
// number and, for a length-delimited field, its content. For any other field, the
// second argument is the encoded value.
func eachField(message []byte, visit func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return protowire.ParseError(length)
		}
		message = message[length:]
		if length = protowire.ConsumeFieldValue(number, kind, message); length < 0 {
			return protowire.ParseError(length)
		}
		value := message[:length]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := visit(number, value); err != nil {
			return err
		}
		message = message[length:]
	}
	return nil
}

// schemaProblem returns the error for a missing schema.
func schemaProblem(err error) *Error {
	if problem, ok := errors.AsType[*Error](err); ok {
		return problem
	}
	response, isStatus := status.FromError(err)
	switch {
	case !isStatus:
		return fail(Schema, "reading the schema of the provider: %s", short(err.Error()))
	case response.Code() == codes.ResourceExhausted:
		return fail(Schema, "the schema exceeds %d MiB, or the provider reported that a resource is exhausted: %s", maxSchema>>20, short(response.Message()))
	}
	return fail(Schema, "the provider responded to the request for its schema with %s: %s", response.Code(), short(response.Message()))
}
