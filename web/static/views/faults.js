// Faults and slashes, as tables.
import { code, el } from '../dom.js';
import { short, when } from '../show.js';
import { table } from '../table.js';

// proof leads to the audit of a fault, or of what was proven against a keeper.
const proof = (address) => el('a', { href: `#/slash/${encodeURIComponent(address)}`, 'data-key': `slash-${address}`, 'aria-label': `Audit ${address}` }, 'Audit');

export const faultTable = (faults, caption) => table('Faults', caption, ['Fault', 'Proof', 'Node', 'Cause', 'What', 'State', 'Period #', 'Stake, GNT #', 'Takes effect', 'Voted for its appeal, GNT #'],
  faults.map((f) => [code(short(f.address)), proof(f.address), el('a', { href: `#/machine/${encodeURIComponent(f.node)}`, 'data-key': `node-${f.address}` }, short(f.node)), f.cause, f.flags.join(', '), f.state, f.period, f.amount,
    when(f.applicableAt), `${f.appealWeight} of ${f.totalWeight}`]));

// pastTable lists slashes that took effect.
export const pastTable = (past) => table('Past slashes', `The newest first. ${past.unreadable ? `${past.unreadable} transactions could not be read: there may be other slashes in them. ` : ''}${past.whole ? 'These are all that the cluster’s node remembers.' : 'There may be older ones.'} Reports of death and forfeited deposits are with their nodes.`,
  ['When', 'What', 'Proof', 'Of', 'Lease', 'Slashed, GNT #', 'To those it harmed #', 'Finder #', 'Burned #', 'Transaction'],
  past.slashes.map((s) => [when(s.at) || 'unknown', s.proof ?? 'fault of a node', proof(s.address), s.node ? el('a', { href: `#/machine/${encodeURIComponent(s.node)}`, 'data-key': `past-${s.transaction}` }, short(s.node)) : ['keeper ', code(short(s.address))],
    s.lease && el('a', { href: `#/audit/${encodeURIComponent(s.lease)}`, 'data-key': `past-lease-${s.transaction}` }, short(s.lease)), s.amount, s.harmed, s.finder, s.burned, code(short(s.transaction))]));
