package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/container"
)

const (
	// MaxFile is how large a file may be that is copied over HTTP, bytes. It is held in memory.
	MaxFile = 16 << 20
	// maxFiles is how many folders and files are read or written at once.
	maxFiles = 4
	// fileWithin is how long a browser may take to send one.
	fileWithin = 25 * time.Second
)

// fileSuffix ends the path of a file's content.
const fileSuffix = "/file"

// isFile reports whether a request may have a file's content as its body.
func isFile(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, apiLeasesPath) && strings.HasSuffix(r.URL.Path, fileSuffix)
}

// Files are those of a container. Errors: service.Failure.
type Files interface {
	List(ctx context.Context, path string) (container.Folder, error)
	Read(path string) ([]byte, error)
	Write(path string, content []byte) error
}

type filesInput struct {
	ID   string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
	Path string `query:"path" required:"true" minLength:"1" maxLength:"1024" example:"/root" doc:"In the container; one that does not begin with a slash begins in the home of its user"`
}

type fileInput struct {
	ID      string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
	Path    string `query:"path" required:"true" minLength:"1" maxLength:"1024" example:"/root/result.txt" doc:"In the container; one that does not begin with a slash begins in the home of its user"`
	RawBody []byte `contentType:"application/octet-stream"`
}

type fileReply struct {
	ContentType        string `header:"Content-Type"`
	ContentDisposition string `header:"Content-Disposition"`
	Body               []byte
}

// registerFiles adds the operations.
func (s *Server) registerFiles(api huma.API) {
	list := read("list-files", "/v1/leases/{id}/files", "A folder of a lease's container")
	list.Errors = append(list.Errors, http.StatusServiceUnavailable)
	huma.Register(api, list, func(ctx context.Context, in *filesInput) (*reply[container.Folder], error) {
		var folder container.Folder
		err := s.withFiles(ctx, in.ID, func(f Files) (err error) {
			folder, err = f.List(ctx, in.Path)
			return err
		})
		if err != nil {
			return nil, err
		}
		return &reply[container.Folder]{folder}, nil
	})
	get := read("read-file", "/v1/leases/{id}"+fileSuffix, "The content of a file of a lease's container")
	get.Description = fmt.Sprintf("At most %d MiB; gantry cp copies larger ones, and folders.", MaxFile>>20)
	get.Errors = append(get.Errors, http.StatusServiceUnavailable)
	get.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}}
	huma.Register(api, get, func(ctx context.Context, in *filesInput) (*fileReply, error) {
		out := &fileReply{ContentType: "application/octet-stream", ContentDisposition: "attachment"}
		err := s.withFiles(ctx, in.ID, func(f Files) (err error) {
			out.Body, err = f.Read(in.Path)
			return err
		})
		if err != nil {
			return nil, err
		}
		return out, nil
	})
	delete(api.OpenAPI().Paths[get.Path].Get.Responses["200"].Headers, "Content-Type") // the content says it
	put := huma.Operation{
		OperationID: "write-file", Method: http.MethodPut, Path: "/v1/leases/{id}" + fileSuffix, Summary: "Make a file of a lease's container, or replace its content",
		Description: get.Description + " The folder must be there.", DefaultStatus: http.StatusNoContent, MaxBodyBytes: MaxFile, BodyReadTimeout: fileWithin,
		Errors: append(slices.Clone(mistakes), http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
	}
	huma.Register(api, put, func(ctx context.Context, in *fileInput) (*struct{}, error) {
		return nil, s.withFiles(ctx, in.ID, func(f Files) error { return f.Write(in.Path, in.RawBody) })
	})
}

// withFiles opens the files of a lease's container for one task.
func (s *Server) withFiles(ctx context.Context, lease string, do func(Files) error) error {
	id, err := address(lease)
	if err != nil {
		return err
	}
	a, err := s.actorOf(ctx, id, false)
	if err != nil {
		return err
	}
	if a.Machines == nil {
		return problem(http.StatusServiceUnavailable, "this server does not reach machines", "use gantry cp")
	}
	give, err := s.files.take("folders and files are read or written")
	if err != nil {
		return err
	}
	defer give()
	if err := a.Machines.Files(ctx, id, do); err != nil {
		if ctx.Err() != nil {
			return failed(ctx.Err())
		}
		return failed(err)
	}
	return nil
}
