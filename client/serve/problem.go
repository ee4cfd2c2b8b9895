package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/market"
)

const problemType = "application/problem+json"

// Problem is an error as clients see it (RFC 9457).
type Problem struct {
	Title    string              `json:"title" doc:"Meaning of the status"`
	Status   int                 `json:"status" doc:"HTTP status"`
	Detail   string              `json:"detail" doc:"What happened, and why"`
	NextStep string              `json:"nextStep,omitempty" doc:"What to do about it"`
	Program  string              `json:"program,omitempty" doc:"Name of the market program's error, where it refused"`
	Code     uint32              `json:"code,omitempty" doc:"Number of the market program's error"`
	Errors   []*huma.ErrorDetail `json:"errors,omitempty" doc:"What is wrong with which part of the request"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is the content type of a problem in any format.
func (p *Problem) ContentType(string) string { return problemType }

func problem(status int, detail, next string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail, NextStep: next}
}

// settings are huma's, which keeps them in variables of its package.
var settings = sync.OnceFunc(func() {
	huma.DefaultArrayNullable = false
	huma.ValidateStrictCasing = true // encoding/json takes "NAME" for "name"; the document has no such field
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		p := problem(status, message, "")
		if status < http.StatusInternalServerError {
			p.NextStep = "compare the request with /openapi.json"
		}
		for _, err := range errs {
			var d huma.ErrorDetailer
			switch {
			case errors.As(err, &d):
				// Not with the value: it may be a secret of the request, and clients write problems into their logs.
				p.Errors = append(p.Errors, &huma.ErrorDetail{Message: d.ErrorDetail().Message, Location: d.ErrorDetail().Location})
			case err != nil:
				p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
			}
		}
		return p
	}
})

// statuses are those of the kinds of failures. A refusal of the market is a conflict with its state, which may change.
var statuses = map[int]int{
	service.CodeRefused:     http.StatusConflict,
	service.CodeUsage:       http.StatusBadRequest,
	service.CodeNetwork:     http.StatusBadGateway,
	service.CodeInterrupted: http.StatusServiceUnavailable,
	service.CodeJobFailed:   http.StatusConflict,
	service.CodeUnknown:     http.StatusBadGateway, // the cluster's node shows less than what happened
}

// failed answers with an error of the service.
func failed(err error) error {
	if err == nil {
		return nil
	}
	var said *Problem
	if errors.As(err, &said) {
		return said
	}
	f := service.Classify(err)
	status, known := statuses[f.Code]
	switch {
	case errors.Is(err, service.ErrNoLease), errors.Is(err, service.ErrNoProvider), errors.Is(err, service.ErrNoNode), errors.Is(err, audit.ErrNoHistory):
		status = http.StatusNotFound
	case errors.As(err, new(*service.RefusedByNode)): // it answers, and would repeat that
		status = http.StatusConflict
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	case !known:
		status = http.StatusInternalServerError
	}
	p := problem(status, printable.Text(f.Reason), printable.Text(f.Advice))
	if f.Cause != nil {
		if code, ok := market.CodeOf(f.Cause); ok {
			p.Program, p.Code = code.Name(), uint32(code)
		}
	}
	return p
}

// write answers outside of an operation.
func (p *Problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a client that is gone does not read it
}
