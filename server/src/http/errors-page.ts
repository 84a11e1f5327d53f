import { ERRORS, type ErrorEntry } from '@countersign/contract'
import { html, htmlPage, prose } from './html.js'
import type { Reply } from './reply.js'

/** Where the `type` of every problem points: the catalogue, with the code as the anchor. */
export function errorsPage(): Reply {
  return htmlPage(
    'Errors · Countersign',
    html`<p><a href="/docs">API reference</a></p>
<main>
<h1>Errors</h1>
<p>A request that fails is answered with <code>application/problem+json</code>. Its <code>code</code> is stable and part
of the API. A decision to deny is not an error. After any error, nothing was permitted.</p>
${Object.entries<ErrorEntry>(ERRORS).map(
  ([code, { status, title, retryable, remedy }]) => html`<section>
<h2 id="${code}">${code}</h2>
<p><strong>${status}</strong> ${title} ${
    retryable
      ? 'The same request may succeed if you send it again.'
      : 'The same request fails again until something changes.'
  }</p>
<p>${prose(remedy)}</p>
</section>
`,
)}
</main>`,
  )
}
