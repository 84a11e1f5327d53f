/** The API reference as a page: what the OpenAPI document says, for people. */
import { ERRORS } from '@countersign/contract'
import type { oas31 } from 'zod-openapi'
import { html, htmlPage, type Markup, prose } from './html.js'
import type { Reply } from './reply.js'

/** A schema, or a reference to one. */
interface Schema extends oas31.SchemaObject {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: Schema[]
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>
}

interface Endpoint extends Operation {
  readonly method: string
  readonly path: string
}

export function referencePage(document: oas31.OpenAPIObject): Reply {
  const endpoints = endpointsOf(document)
  const tags = [...new Set(endpoints.map((endpoint) => endpoint.tags[0] as string))]
  const schemas = Object.entries(document.components?.schemas ?? {}) as [string, Schema][]
  return htmlPage(
    `${document.info.title} API reference`,
    html`<header>
<h1>${document.info.title} API reference</h1>
<p>${document.info.description ?? ''} Send <code>Authorization: Bearer</code> and an API key with every request under
<code>/v1</code>.</p>
<p>For programs: <a href="/openapi.json">OpenAPI 3.1</a>. See also: <a href="/docs/errors">errors</a>.</p>
</header>
<nav aria-label="Endpoints"><ul>
${endpoints.map(({ operationId, method, path, summary }) => html`<li><a href="#${operationId}"><code>${method} ${path}</code></a> ${summary}</li>\n`)}
</ul></nav>
<main>
${tags.map((tag) => html`<h2 id="${tag}">${tag}</h2>\n${endpoints.filter((one) => one.tags[0] === tag).map(endpointSection)}`)}
<h2 id="schemas">Schemas</h2>
${schemas.map(([name, schema]) => html`<section><h3 id="schema-${name}">${name}</h3>\n${schemaBody(schema)}</section>\n`)}
</main>`,
  )
}

function endpointsOf(document: oas31.OpenAPIObject): Endpoint[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      ...(operation as Operation),
      method: method.toUpperCase(),
      path,
    })),
  )
}

function endpointSection(endpoint: Endpoint): Markup {
  const { operationId, method, path, summary, description, parameters = [], requestBody, responses } = endpoint
  const body = schemaIn(requestBody)
  return html`<section>
<h3 id="${operationId}"><code>${method} ${path}</code></h3>
<p>${summary} <em>${description}</em></p>
${
  parameters.length > 0
    ? html`<table><thead><tr><th scope="col">Parameter</th><th scope="col">In</th><th scope="col">Type</th></tr></thead><tbody>
${parameters.map(({ name, in: place, schema }) => html`<tr><td><code>${name}</code></td><td>${place}</td><td>${typeOf(schema)} ${remark(schema)}</td></tr>\n`)}
</tbody></table>`
    : ''
}
${body ? html`<h4>Body</h4>\n${schemaBody(body)}` : ''}
<h4>Responses</h4>
<table><thead><tr><th scope="col">Status</th><th scope="col">When</th><th scope="col">Body</th></tr></thead><tbody>
${Object.entries(responses).map(([status, answer]) => {
  const schema = schemaIn(answer)
  return html`<tr><td>${status}</td><td>${prose(answer.description, errorLink)}</td><td>${schema ? typeOf(schema) : ''}</td></tr>\n`
})}
</tbody></table>
</section>
`
}

function schemaIn(place: Content | undefined): Schema | undefined {
  return Object.values(place?.content ?? {})[0]?.schema
}

/** The members of an object, else what the schema is. */
function schemaBody(schema: Schema): Markup {
  const members = membersOf(schema)
  const about = schema.description ? html`<p>${prose(schema.description)}</p>` : html``
  const named = Object.entries(schema.patternProperties ?? {})
  if (named.length > 0)
    return html`${about}${named.map(([name, member]) => html`<p>Members that match <code>${name}</code>: ${typeOf(member)}</p>\n`)}`
  if (members.length === 0) return html`${about}<p>${typeOf(schema)}</p>`
  return html`${about}<table><thead><tr><th scope="col">Member</th><th scope="col">Type</th><th scope="col"></th></tr></thead><tbody>
${members.map(
  ([name, member]) => html`<tr><td><code>${name}</code></td><td>${typeOf(member)} ${remark(member)}</td>
<td>${schema.required?.includes(name) ? '' : 'optional'}</td></tr>\n`,
)}
</tbody></table>
`
}

function membersOf(schema: Schema): [string, Schema][] {
  return Object.entries(schema.properties ?? {}).filter(([, member]) => member.readOnly !== true)
}

function typeOf(schema: Schema): Markup {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeOf), ' or ')
  if (schema.enum !== undefined)
    return joined(
      schema.enum.map((value) => html`<code>${String(value)}</code>`),
      ', ',
    )
  if (schema.items !== undefined) return html`list${limits(schema)} of ${typeOf(schema.items)}`
  if (membersOf(schema).length > 0) return html`object: ${schemaBody({ ...schema, description: '' })}`
  const types = schema.type === undefined ? ['any JSON'] : [schema.type].flat()
  return html`${types.join(' or ')}${limits(schema)}`
}

function limits(schema: Schema): string {
  const { minLength, maxLength, minItems, maxItems, minimum, maximum, exclusiveMinimum } = schema
  const isGiven = (value: number | undefined) => value !== undefined && Number.isSafeInteger(value + Math.sign(value))
  const range = (from: number | undefined, to: number | undefined, what: string) => {
    if (isGiven(from) && isGiven(to)) return [`${from} to ${to}${what}`]
    if (isGiven(to)) return [`up to ${to}${what}`]
    return isGiven(from) && from !== 0 ? [`at least ${from}${what}`] : []
  }
  const told = [
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' items'),
    ...range(minimum, maximum, ''),
    ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
  ]
  return told.length === 0 ? '' : ` (${told.join(', ')})`
}

/** The description, of one of several forms where the schema itself has none, and an example. */
function remark(schema: Schema): Markup {
  const told = [schema, ...(schema.anyOf ?? [])]
  const description = told.find((one) => one.description !== undefined)?.description
  const example = told.find((one) => one.examples !== undefined)?.examples?.[0]
  return html`${description ? html`<br>${prose(description)}` : ''}${
    example === undefined
      ? ''
      : html`<br>Example: <code>${typeof example === 'string' ? example : JSON.stringify(example)}</code>`
  }`
}

function joined(parts: readonly Markup[], separator: string): Markup {
  return html`${parts.map((part, i) => (i === 0 ? part : html`${separator}${part}`))}`
}

function errorLink(code: string): string | null {
  return Object.hasOwn(ERRORS, code) ? `/docs/errors#${code}` : null
}
