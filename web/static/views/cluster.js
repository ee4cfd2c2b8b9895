// One cluster: its members with their places, what they serve, what it costs, and its end.
import { ask, get } from '../api.js';
import { confirmed } from '../dialog.js';
import { code, describe, el, fill, outside } from '../dom.js';
import { address, copyField, crumbs, inCard, state, stats } from '../parts.js';
import { money, nb, problem, span, when } from '../show.js';
import { table } from '../table.js';
import { membersOf, typeOf } from './clusters.js';
import { growButton, grows } from './grow.js';
import { nameOf, readNames } from './rename.js';

const over = ['ended', 'failed'];

const leaseLink = (m) => address(m.lease, 'lease', { href: `#/${m.status === 'closed' ? 'audit' : 'lease'}/${encodeURIComponent(m.lease)}`, key: `member-${m.place}`, name: nameOf(m.lease) });

const machines = (c) => table('Members', 'A place stays: a machine that takes over has its name and address.', ['Name', 'Address', 'Lease', 'State', 'Machine', 'Used #'],
  c.members.map((m) => [m.host, code(m.address), leaseLink(m), state(m.status), m.node ? address(m.node, 'machine', { href: `#/machine/${encodeURIComponent(m.node)}` }) : '–', m.costAtMost ? money(m.costAtMost) : '–']));

// ways are how its programs are reached.
function ways(c) {
  const here = c.members.find((m) => m.status === 'running');
  return [
    c.endpoint && el('p', {}, 'Public address: ', outside(c.endpoint, c.endpoint)),
    c.services?.length > 0 && table('Services', 'On node-0. The command leads to one from your computer.', ['Service', 'In the network', 'From your computer'],
      c.services.map((s) => [s.name, s.address ? code(s.address) : 'by the command alone', copyField(`gantry port ${s.lease} ${s.port}`, 'the command')])),
    here && inCard({ name: 'Connect' }, el('div', { class: 'stack-12' }, el('div', { class: 'stack' }, el('span', { class: 't3 small' }, 'Your computer in its network'), copyField(`gantry vpn ${here.lease}`, 'the command')), el('div', { class: 'stack' }, el('span', { class: 't3 small' }, `A shell on ${here.host}`), copyField(`gantry ssh ${here.lease}`, 'the command')))),
  ];
}

export async function cluster({ root, argument, signal, every }) {
  const id = decodeURIComponent(argument);
  const path = `/v1/clusters/${encodeURIComponent(id)}`;
  const failure = el('div');
  const body = el('div', { class: 'gap' });
  const acts = el('div', { class: 'buttons' });
  let ending = false;
  const end = el('button', { type: 'button', class: 'btn stop', on: { click: async () => {
    if (ending) return;
    failure.replaceChildren();
    const yes = await confirmed({
      title: `End ${id}?`, yes: 'End the cluster', danger: true,
      body: el('p', {}, 'The jobs of all its machines end at once, and what is not saved elsewhere is lost. What is not used comes back to the credits.'),
    });
    if (!yes) return;
    ending = true;
    end.textContent = 'Ending';
    try {
      for (;;) { // a lease that has not started can only be ended afterwards
        const { status, body: c } = await ask('DELETE', path, { signal });
        draw(c);
        if (status === 200) break;
      }
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err));
    }
    ending = false;
    end.textContent = 'End the cluster';
  } } }, 'End the cluster');
  root.append(crumbs('#/clusters', 'Clusters', el('code', { class: 'tiny' }, id)), el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, `Cluster ${id}`)), acts), failure, body);
  let shown = '';
  let latest;
  const draw = (c) => {
    latest = c;
    const now = JSON.stringify(c);
    if (now === shown) return;
    shown = now;
    fill(body,
      stats('In short', ['State', state(c.state)], ['Runs', typeOf(c)], ['Machines', membersOf(c)],
        ['Used', c.costAtMost ? money(c.costAtMost) : '–'], ['Reserved, the most it can cost', money(c.costCap)]),
      c.failed && el('p', { class: 'warn' }, 'Nothing was bought: ', c.failed),
      c.says && el('p', { class: 'warn', role: 'status' }, c.says),
      c.left?.length > 0 && el('div', { role: 'status' }, el('p', {}, 'Not over yet:'), el('ul', {}, c.left.map((l) => el('li', {}, l)))),
      c.members.length > 0 ? [machines(c)] : !over.includes(c.state) && el('p', { role: 'status' }, 'Its machines are not all awarded yet.'),
      ways(c),
      inCard({ name: 'Details' }, describe(['Order', address(c.order, 'order')], ['Time', span(c.seconds)], ['Needs at least', c.minNodes && `${c.minNodes} machines`], ['Max price', c.maxPricePerGpuHour && money(c.maxPricePerGpuHour, `${nb}/h`)], ['Since', when(c.createdAt)])));
    const buttons = [grows(c) && grow, !over.includes(c.state) && end].filter(Boolean);
    if (buttons.length !== acts.children.length || buttons.some((b, i) => acts.children[i] !== b)) acts.replaceChildren(...buttons); // which loses the focus
  };
  const grow = growButton(path, signal, () => latest, draw, failure);
  const load = async () => {
    await readNames(signal);
    if (!ending) draw(await get(path, signal));
  };
  await load();
  every(2000, load);
}
