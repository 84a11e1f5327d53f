/**
 * Holds every answer against the server's own OpenAPI document: a status, a header, a media type, a problem code or a
 * body that the document does not tell of is a fault, of the server or of the document.
 */
import { Ajv2020, type AnySchemaObject } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

interface DocumentedHeader {
  readonly required?: boolean
}

interface DocumentedContent {
  readonly schema?: { readonly $ref?: string }
}

interface DocumentedResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, DocumentedHeader>>
  readonly content?: Readonly<Record<string, DocumentedContent>>
}

interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, DocumentedResponse>>
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

export interface SeenAnswer {
  readonly method: string
  /** With or without a query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** What HTTP itself and the security headers bring to every answer; documenting them a hundred times helps nobody. */
const EVERYWHERE = new Set([
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'date',
  'keep-alive',
  'origin-agent-cluster',
  'referrer-policy',
  'strict-transport-security',
  'transfer-encoding',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-xss-protection',
])

/** What is answered where no operation is: no route, or no such method on it. */
const NO_OPERATION: Readonly<Record<number, DocumentedResponse>> = {
  401: { description: '`unauthorized`', headers: { 'X-Request-Id': { required: true }, 'WWW-Authenticate': {} } },
  404: { description: '`not_found`', headers: { 'X-Request-Id': { required: true } } },
  405: {
    description: '`method_not_allowed`',
    headers: { 'X-Request-Id': { required: true }, Allow: { required: true } },
  },
}

const PROBLEM = '#/components/schemas/Problem'

const checkers = new Map<string, AnswerCheck>()

/** The check of one document; the same document is compiled once. */
export function answerCheckOf(text: string): AnswerCheck {
  const known = checkers.get(text)
  if (known !== undefined) return known
  const made = new AnswerCheck(JSON.parse(text))
  checkers.set(text, made)
  return made
}

export class AnswerCheck {
  private readonly ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    allErrors: true,
    // Most schemas check few answers in one process.
    code: { optimize: false },
  })
  private readonly paths: readonly { readonly template: string; readonly form: RegExp }[]

  constructor(private readonly document: ApiDocument) {
    formats.default(this.ajv)
    this.ajv.addSchema(document as AnySchemaObject, 'api')
    this.paths = Object.keys(document.paths)
      .sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
      .map((template) => ({ template, form: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  }

  /** Everything about the answer that the document does not tell of; pages outside the API are not in it. */
  faults(answer: SeenAnswer): string[] {
    const path = answer.path.split('?')[0] as string
    const template = this.paths.find(({ form }) => form.test(path))?.template
    if (template === undefined && !path.startsWith('/v1')) return []
    const method = answer.method === 'HEAD' ? 'get' : answer.method.toLowerCase()
    const operation = template === undefined ? undefined : this.document.paths[template]?.[method]
    const pointer = operation && ['', 'paths', template as string, method, 'responses', String(answer.status)]
    const response = operation === undefined ? NO_OPERATION[answer.status] : operation.responses[answer.status]
    if (response === undefined) return [`status ${answer.status} is not documented`]
    const faults = [...headerFaults(response, answer.headers)]
    const isBare = answer.method === 'HEAD' || (operation !== undefined && response.content === undefined)
    if (isBare) return answer.text === '' ? faults : [...faults, 'a body is not documented']
    return [...faults, ...this.bodyFaults(response, pointer, answer)]
  }

  private bodyFaults(response: DocumentedResponse, pointer: string[] | undefined, answer: SeenAnswer): string[] {
    const media = answer.headers.get('content-type') ?? ''
    if (pointer !== undefined && response.content?.[media] === undefined) return [`${media} is not documented`]
    if (pointer === undefined && media !== 'application/problem+json') return [`${media} is no problem`]
    // Events and lines are read where they are tested.
    if (media === 'text/event-stream' || media === 'application/x-ndjson') return []
    const body: unknown = JSON.parse(answer.text)
    const schema =
      pointer === undefined
        ? PROBLEM
        : (refOf(response.content?.[media]) ?? `#${[...pointer, 'content', media, 'schema'].map(escaped).join('/')}`)
    const check = this.ajv.getSchema(`api${schema}`)
    if (check === undefined) throw new Error(`The document has no schema at ${schema}.`)
    const faults = check(body) ? [] : [this.ajv.errorsText(check.errors, { dataVar: 'body' })]
    if (answer.status < 400) return faults
    const { code, status } = body as { code: string; status: number }
    if (!response.description.includes(`\`${code}\``)) faults.push(`${code} is not documented for this status`)
    if (status !== answer.status) faults.push(`the problem says status ${status}`)
    return faults
  }
}

function* headerFaults(response: DocumentedResponse, headers: Headers): Generator<string> {
  const documented = new Map(Object.entries(response.headers ?? {}).map(([name, one]) => [name.toLowerCase(), one]))
  documented.set('cache-control', {})
  for (const name of headers.keys())
    if (!documented.has(name) && !EVERYWHERE.has(name)) yield `the header ${name} is not documented`
  for (const [name, { required }] of documented)
    if (required === true && !headers.has(name)) yield `the documented header ${name} is missing`
}

/** Where a named schema is, so that it is compiled once for all operations that answer with it. */
function refOf(content: DocumentedContent | undefined): string | undefined {
  return content?.schema?.$ref
}

function escaped(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
}
