// Open models of the catalogue, where a template that runs them is chosen.
import { get } from '../api.js';
import { choice, field } from '../dom.js';

// ordered is the model that an address names, with the template that runs it; null for none. What the model says is no field of a form.
export async function ordered(name, signal) {
  if (!name) return null;
  const m = await get(`/v1/catalogue/${encodeURIComponent(name)}`, signal);
  delete m.template.parameters.model;
  return { ...m, name, path: `/v1/catalogue/${encodeURIComponent(name)}/orders` };
}

const needs = (v) => `${v.gpus > 1 ? `${v.gpus} × ` : ''}${v.memoryGiB} GiB${v.gated ? ', needs a token of Hugging Face' : ''}`;

// whichModel is the field for the models that a template runs; chosen is called with a name. null where there are none.
export function whichModel(all, template, now, chosen) {
  const options = all.flatMap((m) => m.variants.filter((v) => v.template === template?.name).map((v) => {
    const name = v === m.variants[0] ? m.name : `${m.name}:${v.quantisation}`;
    return [name, `${m.name}, ${v.quantisation}: ${needs(v)}`];
  }));
  if (options.length === 0) return null;
  const select = choice('openmodel', [['', 'the one in the template’s settings'], ...options], now ?? '');
  select.addEventListener('change', (e) => {
    e.stopPropagation();
    chosen(select.value);
  });
  return field('Open model', select, 'With a model, the template’s settings and the least memory of the GPU are chosen for you.');
}
