package serve

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/service"
)

const aboutPath = "/page/about"

// About is what a page has to know before somebody is signed in.
type About struct {
	// Chain is how wallets name the cluster.
	Chain string `json:"chain"`
	// Local says that it is a local network, on which the page has a wallet for development.
	Local bool `json:"local"`
	// Public says that the server shows the market to everyone, and acts for nobody.
	Public bool `json:"public"`
	// Explorer is a link in which {path} stands for what is looked up.
	Explorer string `json:"explorer"`
}

// registerAbout adds what the page reads that is of nobody.
func (s *Server) registerAbout(api huma.API) {
	hidden := func(id, path string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Hidden: true}
	}
	huma.Register(api, hidden("about", aboutPath), s.about)
	huma.Register(api, hidden("keepers", "/page/keepers"), func(ctx context.Context, _ *struct{}) (*reply[service.Keepers], error) {
		k, err := s.o.Service.Keepers(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[service.Keepers]{k}, nil
	})
}

func (s *Server) about(ctx context.Context, _ *struct{}) (*reply[About], error) {
	e, err := s.o.Service.Explorer(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[About]{About{Chain: e.Cluster.WalletStandard(), Local: s.o.Local, Public: s.o.Public, Explorer: e.Template()}}, nil
}
