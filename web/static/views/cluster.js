// One cluster: its members with their places, what they serve, what it costs, and its end.
import { ask, get } from '../api.js';
import { confirmed } from '../dialog.js';
import { code, describe, el, figure, fill, outside } from '../dom.js';
import { problem, short, span, usdc, when } from '../show.js';
import { table } from '../table.js';
import { membersOf, typeOf } from './clusters.js';

const over = ['ended', 'failed'];

const leaseLink = (m) => el('a', { href: `#/${m.status === 'closed' ? 'audit' : 'lease'}/${encodeURIComponent(m.lease)}`, 'data-key': `member-${m.place}` }, short(m.lease));

const machines = (c) => table('Members', 'A place stays: a machine that takes over has its name and address.', ['Name', 'Address', 'Lease', 'State', 'Machine', 'Costs so far, at most #'],
  c.members.map((m) => [m.host, code(m.address), leaseLink(m), m.status, m.node ? el('a', { href: `#/machine/${encodeURIComponent(m.node)}` }, short(m.node)) : '–', m.costAtMost ? usdc(m.costAtMost) : '–']));

// ways are how its programs are reached.
function ways(c) {
  const here = c.members.find((m) => m.status === 'running');
  return [
    c.endpoint && el('p', {}, 'Public address: ', outside(c.endpoint, c.endpoint)),
    c.services?.length > 0 && table('Services', 'On node-0. The command leads to one from your computer.', ['Service', 'In the network', 'From your computer'],
      c.services.map((s) => [s.name, s.address ? code(s.address) : 'by the command alone', code(`gantry port ${s.lease} ${s.port}`)])),
    here && describe(['Your computer in its network', code(`gantry vpn ${here.lease}`)], [`A shell on ${here.host}`, code(`gantry ssh ${here.lease}`)]),
  ];
}

export async function cluster({ root, argument, signal, every }) {
  const id = decodeURIComponent(argument);
  const path = `/v1/clusters/${encodeURIComponent(id)}`;
  const failure = el('div');
  const body = el('div');
  const acts = el('div', { class: 'buttons' });
  let ending = false;
  const end = el('button', { type: 'button', class: 'danger', on: { click: async () => {
    if (ending) return;
    failure.replaceChildren();
    const yes = await confirmed({
      title: `End ${id}?`, yes: 'End the cluster', no: 'Let it run', danger: true,
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
  root.append(el('h1', { tabindex: -1 }, `Cluster ${id}`), failure, body, acts);
  let shown = '';
  const draw = (c) => {
    const now = JSON.stringify(c);
    if (now === shown) return;
    shown = now;
    fill(body,
      el('div', { class: 'figures' }, figure('State', c.state), figure('Runs', typeOf(c)), figure('Machines', membersOf(c)),
        figure('Costs so far, at most', c.costAtMost ? usdc(c.costAtMost) : '–'), figure('Costs at most', usdc(c.costCap))),
      c.failed && el('p', { class: 'warn' }, 'Nothing was bought: ', c.failed),
      c.left?.length > 0 && el('div', { role: 'status' }, el('p', {}, 'Not over yet:'), el('ul', {}, c.left.map((l) => el('li', {}, l)))),
      c.members.length > 0 ? [el('h2', {}, 'Machines'), machines(c)] : !over.includes(c.state) && el('p', { role: 'status' }, 'Its machines are not all awarded yet.'),
      ways(c),
      describe(['Order', code(c.order)], ['Time', span(c.seconds)], ['Price, at most', c.maxPricePerGpuHour && `${usdc(c.maxPricePerGpuHour)} per GPU-hour`], ['Since', when(c.createdAt)]));
    if (over.includes(c.state)) end.remove();
    else if (!end.isConnected) acts.append(end);
  };
  const load = async () => {
    if (!ending) draw(await get(path, signal));
  };
  await load();
  every(2000, load);
}
