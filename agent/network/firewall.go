package network

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Sets of the table.
const (
	setUplinks = "uplinks" // by which leases reach the internet
	setRaised  = "raised"  // those of them whose forwarding of IPv4 was switched on for leases
)

// rules adds rules to a table.
type rules struct {
	c      *nftables.Conn
	t      *nftables.Table
	leases string // what the names of leases' interfaces begin with
}

func (r rules) add(chain *nftables.Chain, parts ...[]expr.Any) {
	r.c.AddRule(&nftables.Rule{Table: r.t, Chain: chain, Exprs: slices.Concat(parts...)})
}

func (r rules) chain(name string, kind nftables.ChainType, hook *nftables.ChainHook, at *nftables.ChainPriority) *nftables.Chain {
	return r.c.AddChain(&nftables.Chain{Name: name, Table: r.t, Type: kind, Hooknum: hook, Priority: at})
}

// Parts of rules.
func verdict(kind expr.VerdictKind) []expr.Any { return []expr.Any{&expr.Verdict{Kind: kind}} }

// refuse ends a packet's way and tells the lease so.
func refuse() []expr.Any { return []expr.Any{&expr.Verdict{Kind: expr.VerdictGoto, Chain: "refuse"}} }

func equals(load expr.Any, data []byte) []expr.Any {
	return []expr.Any{load, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data}}
}

func meta(key expr.MetaKey) expr.Any { return &expr.Meta{Key: key, Register: 1} }

// from and to match interfaces of leases: a name that is compared without its end is a prefix.
func (r rules) from() []expr.Any { return equals(meta(expr.MetaKeyIIFNAME), []byte(r.leases)) }

func (r rules) to() []expr.Any { return equals(meta(expr.MetaKeyOIFNAME), []byte(r.leases)) }

func within4() []expr.Any { return equals(meta(expr.MetaKeyNFPROTO), []byte{unix.NFPROTO_IPV4}) }

func within6() []expr.Any { return equals(meta(expr.MetaKeyNFPROTO), []byte{unix.NFPROTO_IPV6}) }

// masked loads the part of the destination address that a prefix compares.
func masked(p netip.Prefix) (load []expr.Any, data []byte) {
	offset, size, family := uint32(16), uint32(4), within4()
	if p.Addr().Is6() {
		offset, size, family = 24, 16, within6()
	}
	mask := make([]byte, size)
	for i := range p.Bits() {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	return append(family,
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: size},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: size, Mask: mask, Xor: make([]byte, size)},
	), p.Masked().Addr().AsSlice()
}

func toRange(p netip.Prefix) []expr.Any {
	load, data := masked(p)
	return append(load, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data})
}

func notToRange(p netip.Prefix) []expr.Any {
	load, data := masked(p)
	return append(load, &expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: data})
}

// state matches any of some bits of the connection's state or status.
func state(key expr.CtKey, bits uint32) []expr.Any {
	return []expr.Any{
		&expr.Ct{Key: key, Register: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(bits), Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: make([]byte, 4)},
	}
}

func tcp() []expr.Any { return equals(meta(expr.MetaKeyL4PROTO), []byte{unix.IPPROTO_TCP}) }

func tcpPort(port uint16) []expr.Any {
	return slices.Concat(tcp(),
		equals(&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2}, binaryutil.BigEndian.PutUint16(port)))
}

func member(key expr.MetaKey, set *nftables.Set, invert bool) []expr.Any {
	return []expr.Any{meta(key), &expr.Lookup{SourceRegister: 1, SetName: set.Name, SetID: set.ID, Invert: invert}}
}

// install replaces the agent's table in one step. up and raised are interfaces.
func (p Plan) install(up, raised []string) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("network: nftables: %w", err)
	}
	r := rules{c: c, t: &nftables.Table{Name: tableName(p.Owner), Family: nftables.TableFamilyINet}, leases: linkPrefix(p.Owner)}
	c.AddTable(r.t) // so that there is one to delete
	c.DelTable(r.t)
	c.AddTable(r.t)
	uplinks, err := r.set(setUplinks, up)
	if err != nil {
		return err
	}
	changed, err := r.set(setRaised, raised)
	if err != nil {
		return err
	}
	r.arriving()
	p.leaving(r, uplinks, changed)
	masquerade := r.chain("masquerade", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource)
	r.add(masquerade, r.from(), member(expr.MetaKeyOIFNAME, uplinks, false), []expr.Any{&expr.Masq{}})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("network: rules of nftables: %w", err)
	}
	return nil
}

func (r rules) set(name string, links []string) (*nftables.Set, error) {
	s := &nftables.Set{Table: r.t, Name: name, KeyType: nftables.TypeIFName}
	var elements []nftables.SetElement
	for _, l := range links {
		key := make([]byte, nftables.TypeIFName.Bytes)
		copy(key, l)
		elements = append(elements, nftables.SetElement{Key: key})
	}
	if err := r.c.AddSet(s, elements); err != nil {
		return nil, fmt.Errorf("network: set %s: %w", name, err)
	}
	return s, nil
}

// arriving keeps leases from the machine itself. Before any rule of the machine can rewrite a destination: nothing from an
// address that is not the lease's own, and nothing to the machine.
func (r rules) arriving() {
	first := r.chain("first", nftables.ChainTypeFilter, nftables.ChainHookPrerouting, nftables.ChainPriorityRaw)
	noRouteBack := &expr.Fib{Register: 1, FlagSADDR: true, FlagIIF: true, ResultOIF: true, FlagPRESENT: true}
	r.add(first, r.from(), equals(noRouteBack, []byte{0}), verdict(expr.VerdictDrop))
	local := &expr.Fib{Register: 1, FlagDADDR: true, ResultADDRTYPE: true}
	r.add(first, r.from(), equals(local, binaryutil.NativeEndian.PutUint32(unix.RTN_LOCAL)), verdict(expr.VerdictDrop))
	input := r.chain("input", nftables.ChainTypeFilter, nftables.ChainHookInput, nftables.ChainPriorityFilter)
	r.add(input, r.from(), verdict(expr.VerdictDrop))
}

// leaving decides what is forwarded.
func (p Plan) leaving(r rules, uplinks, raised *nftables.Set) {
	refusal := r.c.AddChain(&nftables.Chain{Name: "refuse", Table: r.t})
	r.add(refusal, tcp(), []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_TCP_RST}})
	r.add(refusal, []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED}})
	forward := r.chain("forward", nftables.ChainTypeFilter, nftables.ChainHookForward, nftables.ChainPriorityFilter)
	r.add(forward, r.from(), member(expr.MetaKeyOIFNAME, uplinks, true), refuse())
	for _, denied := range slices.Concat(special4, special6, p.Deny) {
		r.add(forward, r.from(), toRange(denied), refuse())
	}
	r.add(forward, r.from(), notToRange(global6), refuse())
	if !p.IPv6 {
		r.add(forward, r.from(), within6(), refuse())
	}
	for _, port := range p.ClosedPorts {
		r.add(forward, r.from(), tcpPort(port), refuse())
	}
	r.add(forward, r.from(), state(expr.CtKeySTATE, expr.CtStateBitINVALID), verdict(expr.VerdictDrop))
	r.add(forward, r.from(), verdict(expr.VerdictAccept))
	// Answers only.
	r.add(forward, r.to(), state(expr.CtKeySTATE, expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED), verdict(expr.VerdictAccept))
	r.add(forward, r.to(), verdict(expr.VerdictDrop))
	// Where forwarding was switched on for leases, the machine is no router for its neighbours. What others of this machine
	// have asked for, or forward by a rule of their own, passes.
	notRewritten := []expr.Any{
		&expr.Ct{Key: expr.CtKeySTATUS, Register: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(statusDNAT), Xor: make([]byte, 4)},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: make([]byte, 4)},
	}
	r.add(forward, within4(), member(expr.MetaKeyIIFNAME, raised, false), state(expr.CtKeySTATE, expr.CtStateBitNEW), notRewritten, verdict(expr.VerdictDrop))
}

// statusDNAT is the bit of a connection whose destination was rewritten (IPS_DST_NAT).
const statusDNAT = 1 << 5

// tables lists the tables of all agents in this network namespace.
func tables(c *nftables.Conn) ([]*nftables.Table, error) {
	all, err := c.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return nil, fmt.Errorf("network: tables of nftables: %w", err)
	}
	return slices.DeleteFunc(all, func(t *nftables.Table) bool { return !strings.HasPrefix(t.Name, tableMark) }), nil
}

// Tables names the tables that agents have in this network namespace.
func Tables() ([]string, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, fmt.Errorf("network: nftables: %w", err)
	}
	all, err := tables(c)
	var out []string
	for _, t := range all {
		out = append(out, t.Name)
	}
	return out, err
}

// names reads a set of interfaces.
func names(c *nftables.Conn, t *nftables.Table, set string) ([]string, error) {
	elements, err := c.GetSetElements(&nftables.Set{Table: t, Name: set, KeyType: nftables.TypeIFName})
	if err != nil {
		return nil, fmt.Errorf("network: set %s of %s: %w", set, t.Name, err)
	}
	var out []string
	for _, e := range elements {
		out = append(out, strings.TrimRight(string(e.Key), "\x00"))
	}
	slices.Sort(out)
	return out, nil
}

// current is what this agent's table holds; found is false where there is none.
func (p Plan) current() (up, raised []string, found bool, err error) {
	c, err := nftables.New()
	if err != nil {
		return nil, nil, false, fmt.Errorf("network: nftables: %w", err)
	}
	all, err := tables(c)
	if err != nil {
		return nil, nil, false, err
	}
	for _, t := range all {
		if t.Name != tableName(p.Owner) {
			continue
		}
		if up, err = names(c, t, setUplinks); err == nil {
			raised, err = names(c, t, setRaised)
		}
		return up, raised, true, err
	}
	return nil, nil, false, nil
}

// uplinks are the interfaces by which leases may leave.
func (p Plan) uplinks() ([]string, error) {
	up, err := uplinks(netlink.FAMILY_V4)
	if err != nil || !p.IPv6 {
		return up, err
	}
	more, err := uplinks(netlink.FAMILY_V6)
	up = append(up, more...)
	slices.Sort(up)
	return slices.Compact(up), err
}

// uninstallIfUnused removes the agent's table once no lease has a network, and sets forwarding as it was before.
func (p Plan) uninstallIfUnused() error {
	all, err := links()
	if err != nil {
		return err
	}
	for _, name := range all {
		if strings.HasPrefix(name, linkPrefix(p.Owner)) {
			return nil
		}
	}
	_, raised, found, err := p.current()
	if errors.Is(err, unix.EPERM) {
		return nil // who may not look has made nothing
	}
	if err != nil || !found {
		return err
	}
	if err := p.lower(raised); err != nil {
		return err
	}
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("network: nftables: %w", err)
	}
	c.DelTable(&nftables.Table{Name: tableName(p.Owner), Family: nftables.TableFamilyINet})
	if err := c.Flush(); err != nil {
		return fmt.Errorf("network: remove the rules: %w", err)
	}
	return nil
}
