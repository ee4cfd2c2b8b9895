package contexts

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gantry-market/gantry/sdk/chain"
)

// Names of settings, in the file and on the command line.
const (
	SettingRPC     = "rpc-url"
	SettingWS      = "ws-url"
	SettingKeypair = "keypair"
	SettingServer  = "server"
	SettingGateway = "gateway"
	SettingSponsor = "sponsor"

	SettingBucket   = "bucket"
	SettingEndpoint = "bucket-endpoint"
	SettingPrice    = "bucket-price"
)

// settings are all of a context, in the order of the file.
var settings = []string{SettingRPC, SettingWS, SettingKeypair, SettingServer, SettingGateway, SettingSponsor, SettingBucket, SettingEndpoint, SettingPrice}

var errSetting = errors.New("wrong setting")

// of is a setting's values.
func (c *Context) of(name string) []string {
	switch name {
	case SettingRPC:
		return c.RPC
	case SettingWS:
		return c.WS
	case SettingKeypair:
		return list(c.Keypair)
	case SettingServer:
		return list(c.Server)
	case SettingSponsor:
		return list(c.Sponsor)
	case SettingBucket:
		return list(c.Bucket)
	case SettingEndpoint:
		return list(c.Endpoint)
	case SettingPrice:
		return list(c.Price)
	default:
		return list(c.Gateway)
	}
}

// put sets a setting.
func (c *Context) put(name string, values []string) error {
	switch name {
	case SettingRPC:
		c.RPC = values
		return nil
	case SettingWS:
		c.WS = values
		return nil
	}
	if len(values) > 1 {
		return fmt.Errorf("%w: %s is one value", errSetting, name)
	}
	for _, v := range values {
		switch name {
		case SettingKeypair:
			c.Keypair = v
		case SettingServer:
			c.Server = v
		case SettingSponsor:
			c.Sponsor = v
		case SettingBucket:
			c.Bucket = v
		case SettingEndpoint:
			c.Endpoint = v
		case SettingPrice:
			c.Price = v
		default:
			c.Gateway = v
		}
	}
	return nil
}

// check says which setting cannot be, and why.
func (c *Context) check() (setting string, err error) {
	for _, u := range c.RPC {
		if _, err := chain.ResolveURL(u); err != nil {
			return SettingRPC, fmt.Errorf("%s: %w", SettingRPC, err)
		}
	}
	for _, u := range c.WS {
		if err := scheme(u, "ws", "wss"); err != nil {
			return SettingWS, fmt.Errorf("%s: %w", SettingWS, err)
		}
	}
	if len(c.WS) > 0 && len(c.WS) != len(c.RPC) {
		return SettingWS, fmt.Errorf("%w: %d of %s and %d of %s; give one for each, or none", errSetting, len(c.RPC), SettingRPC, len(c.WS), SettingWS)
	}
	if c.Server != "" {
		if err := scheme(c.Server, "http", "https"); err != nil {
			return SettingServer, fmt.Errorf("%s: %w", SettingServer, err)
		}
	}
	if c.Sponsor != "" {
		if err := scheme(c.Sponsor, "http", "https"); err != nil {
			return SettingSponsor, fmt.Errorf("%s: %w", SettingSponsor, err)
		}
	}
	if c.Bucket != "" {
		if err := scheme(c.Bucket, "s3"); err != nil {
			return SettingBucket, fmt.Errorf("%s: %w", SettingBucket, err)
		}
	}
	if c.Endpoint != "" {
		if err := scheme(c.Endpoint, "http", "https"); err != nil {
			return SettingEndpoint, fmt.Errorf("%s: %w", SettingEndpoint, err)
		}
	}
	return "", nil
}

func scheme(text string, one ...string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(one, u.Scheme) {
		return fmt.Errorf("%w: %q is not a URL that begins with %s://", errSetting, text, strings.Join(one, ":// or "))
	}
	return nil
}

// node is the file's content.
func (f *File) node() *yaml.Node {
	text := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	all := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range f.Names() {
		c, one := f.Contexts[name], &yaml.Node{Kind: yaml.MappingNode}
		for _, setting := range settings {
			switch values := c.of(setting); len(values) {
			case 0:
			case 1:
				one.Content = append(one.Content, text(setting), text(values[0]))
			default:
				list := &yaml.Node{Kind: yaml.SequenceNode}
				for _, v := range values {
					list.Content = append(list.Content, text(v))
				}
				one.Content = append(one.Content, text(setting), list)
			}
		}
		all.Content = append(all.Content, text(name), one)
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	if f.Current != "" {
		root.Content = append(root.Content, text("current"), text(f.Current))
	}
	root.Content = append(root.Content, text("contexts"), all)
	return root
}

// parse reads the file's content. Errors: ErrFile, with the line.
func (f *File) parse(raw []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return fmt.Errorf("%w: %s: %s", ErrFile, f.path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return f.pairs(doc.Content[0], "the file", func(key, value *yaml.Node) error {
		switch key.Value {
		case "current":
			if value.Kind != yaml.ScalarNode {
				return f.at(value, "current is the name of a context")
			}
			f.Current = value.Value
			return nil
		case "contexts":
			return f.pairs(value, "contexts", f.parseContext)
		}
		return f.at(key, "%q is not known; the file has current and contexts", key.Value)
	})
}

func (f *File) parseContext(key, value *yaml.Node) error {
	if !nameForm.MatchString(key.Value) {
		return f.at(key, "%q is not a name for a context: give letters, digits, dots and hyphens", key.Value)
	}
	var c Context
	lines := map[string]*yaml.Node{}
	err := f.pairs(value, "context "+key.Value, func(setting, value *yaml.Node) error {
		if !slices.Contains(settings, setting.Value) {
			return f.at(setting, "%q is not a setting; there are %s", setting.Value, strings.Join(settings, ", "))
		}
		lines[setting.Value] = value
		values, ok := texts(value)
		if !ok {
			return f.at(value, "%s is a text, or for URLs a list of texts", setting.Value)
		}
		if err := c.put(setting.Value, values); err != nil {
			return f.at(value, "%w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if setting, err := c.check(); err != nil {
		return f.at(lines[setting], "%w", err)
	}
	f.Contexts[key.Value] = c
	return nil
}

// texts are a value that is one text or a list of them; nothing is none.
func texts(n *yaml.Node) (out []string, ok bool) {
	all := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		all = n.Content
	}
	for _, one := range all {
		if one.Kind != yaml.ScalarNode {
			return nil, false
		}
		if one.Value != "" && one.Tag != "!!null" {
			out = append(out, one.Value)
		}
	}
	return out, true
}

// pairs calls each with the keys and values of a mapping. A key that stands twice is an error.
func (f *File) pairs(n *yaml.Node, what string, each func(key, value *yaml.Node) error) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return f.at(n, "%s must be lines of the form NAME: VALUE", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			return f.at(key, "%q stands twice", key.Value)
		}
		seen[key.Value] = true
		if err := each(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// at is an error in a line of the file.
func (f *File) at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%w: %s: line %d: %w", ErrFile, f.path, n.Line, fmt.Errorf(format, args...))
}
