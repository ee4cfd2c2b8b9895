package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/inference"
	"github.com/gantry-market/gantry/sdk/market"
)

// DeploymentRequest is a model server by its template, how many replicas it may have, and what each may cost. Its replicas are
// leases that are bought as orders of the template are.
type DeploymentRequest struct {
	Template       string            `json:"template,omitempty" pattern:"^[a-z0-9][a-z0-9-]{0,31}$" example:"vllm" doc:"A template of a model server"`
	Model          string            `json:"model,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$" doc:"An open model of /v1/catalogue in place of template: NAME or NAME:QUANTISATION"`
	Set            map[string]string `json:"set,omitempty" doc:"Values of the template's parameters"`
	GPU            string            `json:"gpu,omitempty" maxLength:"32" doc:"GPU model; the one of the template's try, with its price, by default"`
	Count          uint8             `json:"count,omitempty" maximum:"8" doc:"GPUs of a replica"`
	Region         string            `json:"region,omitempty" maxLength:"16" doc:"Prefix of the region"`
	MaxPrice       string            `json:"maxPricePerGpuHour,omitempty" maxLength:"24" doc:"The most USDC per GPU-hour; the model's reference price where gpu is given and this is not"`
	Image          string            `json:"image,omitempty" maxLength:"512" doc:"Another image, such as one pinned by digest"`
	Network        string            `json:"network,omitempty" enum:"internet,none" doc:"What the containers may reach"`
	Volume         string            `json:"volume,omitempty" maxLength:"256" doc:"Another volume, NAME:SIZE:PATH"`
	AllowSimulated bool              `json:"allowSimulated,omitempty" doc:"Simulated GPUs too, on local networks"`
	Inspect        string            `json:"inspect,omitempty" enum:"auto,always,never" doc:"Measure each replica's machine once at a random second of its lease, as for other orders; one that does not pass is replaced"`
	MinReplicas    int               `json:"minReplicas" minimum:"0" maximum:"64" doc:"0 ends the last replica when no one asks for the idle time"`
	MaxReplicas    int               `json:"maxReplicas" minimum:"1" maximum:"64" doc:"One more runs while a replica is replaced before its lease ends"`
	Concurrency    int               `json:"concurrency,omitempty" minimum:"0" maximum:"1024" doc:"Requests that one replica answers at once; the template's by default"`
	IdleSeconds    uint32            `json:"idleSeconds,omitempty" minimum:"1" maximum:"604800" default:"300" doc:"How long replicas are kept that are not needed"`
	WaitSeconds    uint32            `json:"waitSeconds,omitempty" minimum:"1" maximum:"3600" default:"60" doc:"How long a request waits for a replica before it is answered with 503"`
	LeaseSeconds   uint32            `json:"leaseSeconds,omitempty" minimum:"60" maximum:"31536000" default:"86400" doc:"For how long each lease is paid in advance; what is not used comes back. It is extended by as much before it ends"`
}

// Deployment is one as it is now.
type Deployment struct {
	inference.DeploymentStatus
	Request json.RawMessage `json:"request" doc:"What was asked for; values of secret parameters are left out"`
}

// Deployments are all of the server.
type Deployments struct {
	Deployments []inference.DeploymentStatus `json:"deployments" doc:"By name"`
}

type deploymentInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,62}$" doc:"Name of the deployment, by which requests name their model"`
}

type createDeploymentInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,62}$" doc:"Name of the deployment, by which requests name their model"`
	Body DeploymentRequest
}

type deploymentOutput struct {
	Status int
	Body   Deployment
}

type usageInput struct {
	Name  string `path:"name" pattern:"^[a-z0-9][a-z0-9._-]{0,62}$" doc:"Name of the deployment, by which requests name their model"`
	Hours int    `query:"hours" minimum:"1" maximum:"8784" default:"24" doc:"How many, the present one included"`
}

// UsageAnswer is what requests have used.
type UsageAnswer struct {
	Usage []inference.Usage `json:"usage" doc:"By hour and token, the newest first"`
}

// TokenRequest asks for a token for /openai/v1.
type TokenRequest struct {
	Name        string   `json:"name" minLength:"1" maxLength:"64" doc:"For people"`
	Deployments []string `json:"deployments,omitempty" maxItems:"64" doc:"That it may use; all by default"`
	MaxTokens   uint64   `json:"maxTokens,omitempty" maximum:"1000000000000000" doc:"Tokens of models, of prompts and answers together, that it may use in all; any number by default"`
	MaxCost     string   `json:"maxCostUsdc,omitempty" pattern:"^[0-9]{1,9}(\\.[0-9]{1,6})?$" doc:"The most USDC that its requests may cost in total, as usage counts it; any amount by default"`
}

// NewInferenceToken is a token with its text.
type NewInferenceToken struct {
	inference.Token
	Text string `json:"token" doc:"It is not shown again"`
}

// InferenceTokens are all tokens, without their texts.
type InferenceTokens struct {
	Tokens []inference.Token `json:"tokens" doc:"The oldest first"`
}

type inferenceTokenInput struct {
	ID string `path:"id" pattern:"^[0-9a-f]{12}$" doc:"Id of the token"`
}

// registerDeployments adds the operations.
func (s *Server) registerDeployments(api huma.API) {
	writes := func(id, method, path, summary string, status int) huma.Operation {
		op := read(id, path, summary)
		op.Method, op.DefaultStatus, op.MaxBodyBytes = method, status, maxBody
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable)
		return op
	}
	huma.Register(api, read("list-deployments", "/v1/deployments", "Model servers with their replicas"), s.listDeployments)
	huma.Register(api, read("get-deployment", "/v1/deployments/{name}", "One deployment"), s.getDeployment)
	create := writes("create-deployment", http.MethodPut, "/v1/deployments/{name}", "Create a deployment", http.StatusCreated)
	create.Description = "Its name is the key: a repeated request creates nothing, and answers with the deployment as it is now (200)."
	huma.Register(api, create, s.createDeployment)
	created := api.OpenAPI().Paths[create.Path].Put.Responses
	created["200"] = &huma.Response{Description: "It is there already, as it is asked for", Content: created["201"].Content}
	remove := writes("delete-deployment", http.MethodDelete, "/v1/deployments/{name}", "End a deployment and its leases", http.StatusAccepted)
	remove.Description = "It is answered when that begins; the deployment is gone when its leases are over."
	huma.Register(api, remove, s.deleteDeployment)
	huma.Register(api, read("get-deployment-usage", "/v1/deployments/{name}/usage", "What requests to a deployment have used"), s.usage)
	token := writes("create-inference-token", http.MethodPost, "/v1/inference/tokens", "Make a token for /openai/v1", http.StatusCreated)
	token.Description = "It opens nothing else of this server. A repeated request makes another one."
	huma.Register(api, token, s.newInferenceToken)
	huma.Register(api, read("list-inference-tokens", "/v1/inference/tokens", "Tokens for /openai/v1"), s.inferenceTokens)
	huma.Register(api, writes("delete-inference-token", http.MethodDelete, "/v1/inference/tokens/{id}", "Take a token back", http.StatusNoContent), s.deleteInferenceToken)
}

// deployments is the service, or why there is none.
func (s *Server) deployments() (*inference.Service, error) {
	if s.o.Inference == nil {
		return nil, problem(http.StatusServiceUnavailable, "this server has no deployments", "start it with gantry serve")
	}
	return s.o.Inference, nil
}

func inferenceFailed(err error) error {
	switch {
	case errors.Is(err, inference.ErrSpec):
		return problem(http.StatusUnprocessableEntity, err.Error(), "compare the request with /openapi.json")
	case errors.Is(err, inference.ErrExists):
		return problem(http.StatusConflict, err.Error(), "choose another name, or delete that one and wait until it is gone")
	case errors.Is(err, inference.ErrNotFound):
		return problem(http.StatusNotFound, err.Error(), "see /v1/deployments and /v1/inference/tokens")
	}
	return failed(err)
}

func (s *Server) listDeployments(context.Context, *struct{}) (*reply[Deployments], error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	return &reply[Deployments]{Deployments{Deployments: d.Deployments()}}, nil
}

func (s *Server) getDeployment(_ context.Context, in *deploymentInput) (*reply[Deployment], error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	status, spec, err := d.Deployment(in.Name)
	if err != nil {
		return nil, inferenceFailed(err)
	}
	return &reply[Deployment]{Deployment{DeploymentStatus: status, Request: spec.Asked}}, nil
}

func (s *Server) createDeployment(ctx context.Context, in *createDeploymentInput) (*deploymentOutput, error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	c, _ := callerOf(ctx)
	spec, err := s.deploymentSpec(in.Name, in.Body, c.Budget)
	if err != nil {
		return nil, err
	}
	status, fresh, err := d.Create(spec)
	if err != nil {
		return nil, inferenceFailed(err)
	}
	out := &deploymentOutput{http.StatusCreated, Deployment{DeploymentStatus: status, Request: spec.Asked}}
	if !fresh {
		out.Status = http.StatusOK
	}
	return out, nil
}

// deploymentSpec is a deployment of a template: what its replicas are bought with, and how they are reached.
func (s *Server) deploymentSpec(name string, r DeploymentRequest, budget string) (inference.Spec, error) {
	var spec inference.Spec
	asked := TemplateOrder{
		Set: r.Set, GPU: r.GPU, Count: r.Count, Region: r.Region, MaxPrice: r.MaxPrice, Seconds: r.LeaseSeconds, Image: r.Image, Network: r.Network, Volume: r.Volume,
		AllowSimulated: r.AllowSimulated, Inspect: r.Inspect,
	}
	t, err := s.served(r.Template, r.Model, asked)
	if err != nil {
		return spec, err
	}
	order, j, err := orderOf(t, asked)
	if err != nil {
		return spec, err
	}
	replica := buy.Request(order)
	if err := replica.Check(); err != nil { // else no replica would ever be bought
		f := service.Classify(err)
		return spec, problem(http.StatusUnprocessableEntity, f.Reason, f.Advice)
	}
	if j.OpenAI == nil || j.Health == nil {
		return spec, problem(http.StatusUnprocessableEntity, fmt.Sprintf("the template %s is none of a model server", t.Name), "order it with /v1/templates/"+t.Name+"/orders")
	}
	if budget == team.MainBudget {
		budget = ""
	}
	shown := r
	shown.Set = maps.Clone(r.Set)
	for key, p := range t.Parameters {
		if p.Secret {
			delete(shown.Set, key)
		}
	}
	if spec.Asked, err = json.Marshal(shown); err != nil {
		return spec, fmt.Errorf("request: %w", err)
	}
	if spec.Order, err = json.Marshal(ReplicaOrder{OrderRequest: order, Budget: budget}); err != nil {
		return spec, fmt.Errorf("order: %w", err)
	}
	spec.Name, spec.Port, spec.Path, spec.Model = name, j.OpenAI.Port, j.OpenAI.Path, j.OpenAI.Model
	spec.HealthPort, spec.HealthPath, spec.Deadline = j.Health.Port, j.Health.Path, time.Duration(j.Health.Deadline)
	spec.Min, spec.Max, spec.Concurrency = r.MinReplicas, r.MaxReplicas, r.Concurrency
	if spec.Concurrency == 0 {
		spec.Concurrency = j.OpenAI.Concurrency
	}
	spec.Lease = time.Duration(order.Seconds) * time.Second
	spec.Idle, spec.Wait = time.Duration(r.IdleSeconds)*time.Second, time.Duration(r.WaitSeconds)*time.Second
	return spec, nil
}

// served is the template of a deployment: one that is named, or that of a model.
func (s *Server) served(name, model string, asked TemplateOrder) (*template.Template, error) {
	switch {
	case (name == "") == (model == ""):
		return nil, problem(http.StatusUnprocessableEntity, "a deployment names a template or a model, and not both", "see /v1/templates and /v1/catalogue")
	case model != "":
		return s.modelTemplate(model, asked)
	}
	return s.template(name)
}

func (s *Server) deleteDeployment(ctx context.Context, in *deploymentInput) (*deploymentOutput, error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	_, spec, err := d.Deployment(in.Name)
	if err != nil {
		return nil, inferenceFailed(err)
	}
	if p := otherBudget(ctx, "the deployment "+in.Name, budgetOf(spec)); p != nil {
		return nil, p
	}
	status, err := d.Delete(in.Name)
	if err != nil {
		return nil, inferenceFailed(err)
	}
	return &deploymentOutput{http.StatusAccepted, Deployment{DeploymentStatus: status, Request: spec.Asked}}, nil
}

func (s *Server) usage(_ context.Context, in *usageInput) (*reply[UsageAnswer], error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	all, err := d.Usage(in.Name, in.Hours)
	if err != nil {
		return nil, inferenceFailed(err)
	}
	return &reply[UsageAnswer]{UsageAnswer{Usage: all}}, nil
}

func (s *Server) newInferenceToken(ctx context.Context, in *struct{ Body TokenRequest }) (*reply[NewInferenceToken], error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	if err := s.ofDeployments(ctx, d, in.Body.Deployments); err != nil {
		return nil, err
	}
	t, text, err := d.NewToken(inference.Token{
		Name: in.Body.Name, Deployments: slices.Clone(in.Body.Deployments), MaxTokens: in.Body.MaxTokens, MaxCost: in.Body.MaxCost,
	})
	if errors.Is(err, market.ErrAmount) {
		return nil, problem(http.StatusUnprocessableEntity, "maxCostUsdc: "+err.Error(), "write an amount such as 2.50")
	}
	if err != nil {
		return nil, inferenceFailed(err)
	}
	return &reply[NewInferenceToken]{NewInferenceToken{Token: t, Text: text}}, nil
}

func (s *Server) inferenceTokens(context.Context, *struct{}) (*reply[InferenceTokens], error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	all, err := d.Tokens()
	if err != nil {
		return nil, inferenceFailed(err)
	}
	return &reply[InferenceTokens]{InferenceTokens{Tokens: all}}, nil
}

func (s *Server) deleteInferenceToken(ctx context.Context, in *inferenceTokenInput) (*struct{}, error) {
	d, err := s.deployments()
	if err != nil {
		return nil, err
	}
	all, err := d.Tokens()
	if err != nil {
		return nil, inferenceFailed(err)
	}
	if i := slices.IndexFunc(all, func(t inference.Token) bool { return t.ID == in.ID }); i >= 0 {
		if err := s.ofDeployments(ctx, d, all[i].Deployments); err != nil {
			return nil, err
		}
	}
	if err := d.RemoveToken(in.ID); err != nil {
		return nil, inferenceFailed(err)
	}
	return nil, nil
}
