import { ERRORS, type ErrorEntry } from '@countersign/contract'
import { html, htmlPage, prose } from './html.js'
import type { Reply } from './reply.js'

/** The page that the `type` of every problem links to: the catalogue, with the code as the anchor. */
export function errorsPage(): Reply {
  return htmlPage(
    'Errors · Countersign',
    html`<p><a href="/docs">API reference</a></p>
<main>
<h1>Errors</h1>
<p>The response to a failed request is <code>application/problem+json</code>. Its <code>code</code> is stable and part
of the API. A decision to deny is not an error. An error never permits anything.</p>
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
