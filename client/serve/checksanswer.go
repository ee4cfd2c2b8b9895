package serve

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// checksPath has the counts of checks.
const checksPath = "/v1/checks/"

// maxMachines is how many machines are asked for at once: as many as fit the address of a request, however their names are encoded.
const maxMachines = 30

// ChecksByDay are the checks of machines by day.
type ChecksByDay struct {
	Since    int64          `json:"since" doc:"Since when this server counts, unix seconds; 0 where it does not yet"`
	Machines []MachineByDay `json:"machines" doc:"In the order in which they were asked for"`
}

// MachineByDay is a machine with the checks that reports have added to it.
type MachineByDay struct {
	Node string       `json:"node"`
	Days []CheckCount `json:"days" doc:"The oldest first. A day is that on which the server saw the report; days of which it knows nothing are left out"`
}

// ChecksByHour are the checks of all machines by hour.
type ChecksByHour struct {
	Since int64        `json:"since" doc:"Since when this server counts, unix seconds; 0 where it does not yet"`
	Hours []CheckCount `json:"hours" doc:"The oldest first. An hour is that in which the server saw the report; hours in which it did not look are left out"`
}

type checksByDayInput struct {
	Nodes string `query:"nodes" required:"true" minLength:"32" maxLength:"1350" doc:"Addresses of machines, with commas between them; at most 30"`
	Days  int    `query:"days" minimum:"1" maximum:"90" default:"30" doc:"How many, today included"`
}

type checksByHourInput struct {
	Hours int `query:"hours" minimum:"1" maximum:"48" default:"24" doc:"How many, the present one included"`
}

// registerChecks adds the operations.
func (s *Server) registerChecks(api huma.API) {
	op := read("get-checks-by-day", checksPath+"days", "Checks of machines by day, as this server has seen them")
	op.Description = "The chain has the sum of a machine's checks. The server notes how it grows while it runs, and keeps it for 90 days."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	huma.Register(api, op, s.checksByDay)
	op = read("get-checks-by-hour", checksPath+"hours", "Checks of all machines by hour, as this server has seen them")
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	huma.Register(api, op, s.checksByHour)
}

// counts are the checks that are counted. Error: a problem where none are.
func (s *Server) counts() (*Checks, error) {
	if s.o.Checks == nil {
		return nil, problem(http.StatusServiceUnavailable, "this server counts no checks", "ask gantry serve")
	}
	return s.o.Checks, nil
}

func (s *Server) checksByDay(_ context.Context, in *checksByDayInput) (*reply[ChecksByDay], error) {
	c, err := s.counts()
	if err != nil {
		return nil, err
	}
	nodes := strings.Split(in.Nodes, ",")
	if len(nodes) > maxMachines {
		return nil, problem(http.StatusUnprocessableEntity, fmt.Sprintf("%d machines are named, more than %d", len(nodes), maxMachines), "ask for fewer at once")
	}
	first, last, err := c.span()
	if err != nil {
		return nil, failed(err)
	}
	out := ChecksByDay{Since: first, Machines: []MachineByDay{}}
	for _, text := range nodes {
		key, err := publicKey(text, "a machine", copyWhole)
		if err != nil {
			return nil, err
		}
		days, err := c.days(last, key, in.Days)
		if err != nil {
			return nil, failed(err)
		}
		out.Machines = append(out.Machines, MachineByDay{Node: text, Days: days})
	}
	return &reply[ChecksByDay]{out}, nil
}

func (s *Server) checksByHour(_ context.Context, in *checksByHourInput) (*reply[ChecksByHour], error) {
	c, err := s.counts()
	if err != nil {
		return nil, err
	}
	first, last, err := c.span()
	if err != nil {
		return nil, failed(err)
	}
	hours, err := c.hours(last, in.Hours)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[ChecksByHour]{ChecksByHour{Since: first, Hours: hours}}, nil
}
