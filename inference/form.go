package inference

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
)

// maxParts is how many fields a form may have.
const maxParts = 64

// parseForm reads a form with a file, and makes it anew with the model as its server knows it.
func (r *request) parseForm(contentType string, raw []byte, upstream func(model string) (string, error)) error {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return invalid("", r.endpoint+" takes a form (multipart/form-data) with model and file")
	}
	var out bytes.Buffer
	to, from := multipart.NewWriter(&out), multipart.NewReader(bytes.NewReader(raw), params["boundary"])
	named := false
	for parts := 0; ; parts++ {
		part, err := from.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || parts == maxParts {
			return invalid("", fmt.Sprintf("the form cannot be read, or has more than %d fields", maxParts))
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return invalid("", "the form cannot be read")
		}
		switch part.FormName() {
		case "model":
			if named {
				return invalid("model", "the form has two models")
			}
			there, err := upstream(string(text))
			if err != nil {
				return err
			}
			text, named = []byte(there), true
		case "stream":
			if string(text) != "false" {
				return invalid("stream", r.endpoint+" cannot be streamed")
			}
		}
		field, err := to.CreatePart(part.Header)
		if err == nil {
			_, err = field.Write(text)
		}
		if err != nil {
			return fmt.Errorf("form: %w", err)
		}
	}
	if !named {
		return noName()
	}
	if err := to.Close(); err != nil {
		return fmt.Errorf("form: %w", err)
	}
	r.body, r.contentType = out.Bytes(), to.FormDataContentType()
	return nil
}
