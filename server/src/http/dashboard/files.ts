/** The built dashboard, as answers. Every page is `index.html`; which one it shows follows from the path, in the browser. */
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { DomainError } from '../../domain-error.js'
import type { Reply } from '../reply.js'

/** The files of the dashboard by their path: `/index.html`, `/dashboard/assets/…`. */
export type DashboardFiles = ReadonlyMap<string, Buffer>

const NONCE = '__CSP_NONCE__'
const ASSETS = '/dashboard/assets/'
/** Pages that everybody gets. Other paths are a page only for a browser that opens one. */
const PAGES = new Set(['/', '/docs'])

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
}
const COMPRESSIBLE = /^(text|image\/svg|application\/json)/

const compress = promisify(gzip)

interface Body {
  readonly plain: Buffer
  /** Null where it would not be smaller. */
  readonly zipped: Buffer | null
}

/** Serves the dashboard. */
export class DashboardPages {
  private readonly bodies = new Map<string, Promise<Body>>()
  private loaded: Promise<DashboardFiles> | null = null

  /** @param load reads the files, once, when somebody asks for the first of them */
  constructor(private readonly load: () => Promise<DashboardFiles>) {}

  /** The template of the path for the log and the metrics; null when there is nothing of the dashboard. */
  templateOf(path: string, headers: IncomingHttpHeaders): string | null {
    if (path.startsWith(ASSETS)) return `${ASSETS}{name}`
    if (path.startsWith('/v1/') || path.startsWith('/dashboard/')) return null
    if (PAGES.has(path)) return path
    return (headers.accept ?? '').includes('text/html') ? '/{page}' : null
  }

  /** @throws DomainError not_found */
  async answer(path: string, headers: IncomingHttpHeaders): Promise<Reply> {
    const files = await this.files()
    if (!path.startsWith(ASSETS)) return page(files.get('/index.html') as Buffer)
    const file = files.get(path)
    if (file === undefined) throw new DomainError('not_found')
    const type = MEDIA_TYPES[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
    const body = await this.bodyOf(path, file, type)
    const takesGzip = body.zipped !== null && /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
    return {
      status: 200,
      headers: {
        'Content-Type': type,
        // The name of an asset has a hash of its content.
        'Cache-Control': 'public, max-age=31536000, immutable',
        ...(body.zipped !== null && { Vary: 'Accept-Encoding' }),
        ...(takesGzip && { 'Content-Encoding': 'gzip' }),
      },
      text: takesGzip ? (body.zipped as Buffer) : body.plain,
    }
  }

  /** What fails is tried again. */
  private async files(): Promise<DashboardFiles> {
    this.loaded ??= this.load()
    try {
      return await this.loaded
    } catch (error) {
      this.loaded = null
      throw new Error('The dashboard cannot be read. Is it built? (npm run build)', { cause: error })
    }
  }

  private bodyOf(path: string, plain: Buffer, type: string): Promise<Body> {
    const known = this.bodies.get(path)
    if (known !== undefined) return known
    const made = COMPRESSIBLE.test(type)
      ? compress(plain, { level: 9 }).then((zipped) => ({ plain, zipped }))
      : Promise.resolve({ plain, zipped: null })
    this.bodies.set(path, made)
    return made
  }
}

/** Scripts are files of ours alone. Libraries put styles into the page, which the browser takes by the nonce of this answer. */
function page(html: Buffer): Reply {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    status: 200,
    headers: { 'Content-Type': MEDIA_TYPES.html as string, 'Content-Security-Policy': policy.join(';') },
    text: html.toString().replaceAll(NONCE, nonce),
  }
}
