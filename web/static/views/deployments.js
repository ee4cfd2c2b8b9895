// Model servers with replicas: how many serve, and what they are asked.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { when } from '../show.js';
import { table } from '../table.js';

// replicasOf says how many of a deployment serve, of how many that are wanted.
export const replicasOf = (d) => `${d.servingReplicas} of ${d.wantedReplicas} serve (${d.minReplicas} to ${d.maxReplicas})`;

export async function deployments({ root, signal, every }) {
  const body = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Deployments'),
    el('p', {}, 'A deployment serves a model by OpenAI’s API with as many leases as its requests fill. ', el('a', { href: '#/deploy', class: 'button' }, 'New deployment')), body);
  let shown = '';
  const load = async () => {
    const { deployments: all } = await get('/v1/deployments', signal);
    const now = JSON.stringify(all);
    if (now === shown) return;
    shown = now;
    fill(body, all.length === 0 ? el('p', {}, 'This server has none.') : table('Deployments', 'By name, which is the model’s name for clients.', ['Name', 'Replicas', 'Requests #', 'Waiting #', 'Since', 'Note *'],
      all.map((d) => [el('a', { href: `#/deployment/${encodeURIComponent(d.name)}`, 'data-key': `deployment-${d.name}` }, d.name), replicasOf(d), d.activeRequests, d.waitingRequests, when(d.createdAt),
        [d.deleting && 'is being stopped ', d.reason && ['The last replica did not serve: ', d.reason], d.retryAt && `; the next begins at ${when(d.retryAt)}`]])));
  };
  await load();
  every(3000, load);
}
