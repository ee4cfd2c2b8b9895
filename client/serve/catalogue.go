package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
)

// Catalogue are open models that orders and deployments may name.
type Catalogue struct {
	Models []catalogue.OpenModel `json:"models" doc:"By name"`
}

// CatalogueModel is one model, and what runs it.
type CatalogueModel struct {
	Model    catalogue.OpenModel `json:"model"`
	Template template.Template   `json:"template" doc:"That runs it, with the model's parameters and memory in place"`
	Commands []catalogue.Command `json:"commands" doc:"Command lines of gantry that run it"`
}

type catalogueInput struct {
	Does string `query:"does" enum:"chat,code,embedding,image,speech" doc:"Only models that do this"`
}

type modelInput struct {
	Name string `path:"name" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,95}$" doc:"Name of the model, or NAME:QUANTISATION"`
}

type modelOrderInput struct {
	Name string `path:"name" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,95}$" doc:"Name of the model, or NAME:QUANTISATION"`
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Names the purchase; a random one, such as a UUID"`
	Body TemplateOrder
}

// registerCatalogue adds the operations.
func (s *Server) registerCatalogue(api huma.API, order huma.Operation) {
	huma.Register(api, read("list-models", "/v1/catalogue", "Open models that can be ordered by name"), s.listModels)
	huma.Register(api, read("get-model", "/v1/catalogue/{name}", "One open model, and the template that runs it"), s.getModel)
	order.OperationID, order.Path, order.Summary = "order-model", "/v1/catalogue/{name}/orders", "Buy compute and run an open model on it"
	order.Errors = slices.Clone(order.Errors)
	huma.Register(api, order, s.orderModel)
	later(api.OpenAPI().Paths[order.Path].Post, "201", "The purchase continues; repeat the request to learn more")
}

func (s *Server) listModels(_ context.Context, in *catalogueInput) (*reply[Catalogue], error) {
	out := Catalogue{Models: []catalogue.OpenModel{}}
	if s.o.Catalogue == nil {
		return &reply[Catalogue]{out}, nil
	}
	all, err := s.o.Catalogue.List(catalogue.Use(in.Does))
	if err != nil {
		return nil, failed(err)
	}
	for _, m := range all {
		out.Models = append(out.Models, *m.OpenModel)
	}
	return &reply[Catalogue]{out}, nil
}

func (s *Server) getModel(_ context.Context, in *modelInput) (*reply[CatalogueModel], error) {
	t, err := s.modelTemplate(in.Name, TemplateOrder{})
	if err != nil {
		return nil, err
	}
	m, v, err := s.o.Catalogue.Find(in.Name)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[CatalogueModel]{CatalogueModel{Model: *m, Template: *t, Commands: m.CommandLines(v, t)}}, nil
}

func (s *Server) orderModel(ctx context.Context, in *modelOrderInput) (*orderOutput, error) {
	t, err := s.modelTemplate(in.Name, in.Body)
	if err != nil {
		return nil, err
	}
	return s.orderAs(ctx, &templateOrderInput{in.Name, in.Key, in.Body}, t, in.Name)
}

// modelTemplate is the template that runs a model as an order wants it.
func (s *Server) modelTemplate(name string, o TemplateOrder) (*template.Template, error) {
	return ModelTemplate(s.o.Catalogue, s.o.Templates, name, o)
}

// ModelTemplate is the template that runs a model as an order wants it. c may be nil, for none. Error: a Problem.
func ModelTemplate(c *catalogue.Catalogue, all template.Set, name string, o TemplateOrder) (*template.Template, error) {
	if c == nil {
		return nil, problem(http.StatusNotFound, "this server has no catalogue of models", "order a template")
	}
	t, err := c.Template(all, name, catalogue.Wanted{Set: o.Set, GPU: o.GPU, Count: o.Count, Guest: o.Guest})
	var f *service.Failure
	switch {
	case errors.Is(err, catalogue.ErrNotFound), errors.Is(err, template.ErrNotFound):
		return nil, problem(http.StatusNotFound, err.Error(), "see /v1/catalogue")
	case errors.Is(err, template.ErrParameter):
		return nil, problem(http.StatusUnprocessableEntity, err.Error(), "see /v1/catalogue/"+name)
	case errors.As(err, &f):
		return nil, problem(http.StatusUnprocessableEntity, f.Reason, f.Advice)
	case err != nil:
		return nil, failed(err)
	}
	return t, nil
}

// ModelOrder is the order that a model stands for. Error: a Problem.
func ModelOrder(c *catalogue.Catalogue, all template.Set, name string, o TemplateOrder) (OrderRequest, error) {
	t, err := ModelTemplate(c, all, name, o)
	if err != nil {
		return OrderRequest{}, err
	}
	r, _, err := orderOf(t, o)
	return r, err
}
