// Faults and slashes, as tables.
import { el } from '../dom.js';
import { address } from '../parts.js';
import { when } from '../show.js';
import { table } from '../table.js';

// proof leads to the audit of a fault, or of what was proven against a keeper.
const proof = (address) => el('a', { class: 'link', href: `#/slash/${encodeURIComponent(address)}`, 'data-key': `slash-${address}`, 'aria-label': `Audit ${address}` }, 'Audit');

export const faultTable = (faults, caption) => table('Faults', caption, ['Fault', 'Proof', 'Machine', 'Cause', 'What', 'State', 'Period #', 'Stake, GNT #', 'Takes effect', 'Voted for its appeal, GNT #'],
  faults.map((f) => [address(f.address, 'fault'), proof(f.address), address(f.node, 'machine', { href: `#/machine/${encodeURIComponent(f.node)}`, key: `node-${f.address}` }), f.cause, f.flags.join(', '), f.state, f.period, f.amount,
    when(f.applicableAt), `${f.appealWeight} of ${f.totalWeight}`]));

// pastTable lists slashes that took effect.
export const pastTable = (past) => table('Past slashes', `The newest first. ${past.unreadable ? `${past.unreadable} transactions could not be read: there may be other slashes in them. ` : ''}${past.whole ? 'These are all that the cluster’s node remembers.' : 'There may be older ones.'} Reports of death and forfeited deposits are with their nodes.`,
  ['When', 'What', 'Proof', 'Of', 'Lease', 'Slashed, GNT #', 'To those it harmed #', 'Finder #', 'Burned #', 'Transaction'],
  past.slashes.map((s) => [when(s.at) || 'unknown', s.proof ?? 'fault of a node', proof(s.address), s.node ? address(s.node, 'machine', { href: `#/machine/${encodeURIComponent(s.node)}`, key: `past-${s.transaction}` }) : ['keeper ', address(s.address, 'keeper')],
    s.lease && address(s.lease, 'lease', { href: `#/audit/${encodeURIComponent(s.lease)}`, key: `past-lease-${s.transaction}` }), s.amount, s.harmed, s.finder, s.burned, address(s.transaction, 'transaction', { kind: 'tx' })]));
