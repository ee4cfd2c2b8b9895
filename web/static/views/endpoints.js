// Model servers with replicas: how many serve, and what they are asked.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { empty } from '../parts.js';
import { when } from '../show.js';
import { table } from '../table.js';

// replicasOf says how many of a deployment serve, of how many that are wanted.
export const replicasOf = (d) => `${d.servingReplicas} of ${d.wantedReplicas} serve (${d.minReplicas} to ${d.maxReplicas})`;

export async function endpoints({ root, signal, every }) {
  const body = el('div');
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Endpoints'), el('p', {}, 'An endpoint serves a model by OpenAI’s API with as many leases as its requests fill.')), el('a', { href: '#/newendpoint', class: 'btn act' }, 'New endpoint')), body);
  let shown = '';
  const load = async () => {
    const { deployments: all } = await get('/v1/deployments', signal);
    const now = JSON.stringify(all);
    if (now === shown) return;
    shown = now;
    fill(body, all.length === 0 ? empty('This server has none.', 'A model is served from the first request on; without requests it costs nothing.') : table('Endpoints', 'By name, which is the model’s name for clients.', ['Name', 'Replicas', 'Requests #', 'Waiting #', 'Since', 'Note *'],
      all.map((d) => [el('a', { class: 'link', href: `#/endpoint/${encodeURIComponent(d.name)}`, 'data-key': `endpoint-${d.name}` }, d.name), replicasOf(d), d.activeRequests, d.waitingRequests, when(d.createdAt),
        [d.deleting && 'is being stopped ', d.reason && ['The last replica did not serve: ', d.reason], d.retryAt && ['; the next begins at ', when(d.retryAt)]]])));
  };
  await load();
  every(3000, load);
}
