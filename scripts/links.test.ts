import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readText, repositoryFiles } from './repository-files.js'

const pages = repositoryFiles.filter((path) => path.endsWith('.md'))

/** The text of a page without what stands in fences. */
function proseOf(page: string): string {
  return readText(page).replaceAll(/^(```+)[\s\S]*?^\1$/gm, '')
}

function headingsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/^#+ +(.*)$/gm)].map(([, heading = '']) => heading.trim())
}

/** As GitHub makes it of a heading; a second one of the same name gets a number, which no page needs. */
function anchorOf(heading: string): string {
  return heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** What a link of a page leads to, as a path of the repository with an anchor; null for one that leads elsewhere. */
function faultOf(page: string, link: string): string | null {
  if (/^[a-z]+:/.test(link)) return null
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : posix.normalize(posix.join(posix.dirname(page), path))
  const isThere = repositoryFiles.some((file) => file === target || file.startsWith(`${target.replace(/\/$/, '')}/`))
  if (!isThere) return `${page}: ${link} leads to no file`
  if (anchor === undefined || headingsOf(target).map(anchorOf).includes(anchor)) return null
  return `${page}: ${link} leads to no heading`
}

describe('a relative link', () => {
  const links = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(<?([^)>\s]+)>?\)/g)].map(([, link = '']) => ({ page, link })),
  )

  it('leads to a file that is there, and to a heading of it', () => {
    expect(links.map(({ page, link }) => faultOf(page, link)).filter((fault) => fault !== null)).toEqual([])
    expect(links.length).toBeGreaterThan(50)
  })

  it('that leads nowhere is found', () => {
    expect(faultOf('docs/README.md', 'nothing.md')).toContain('no file')
    expect(faultOf('docs/README.md', 'concepts.md#nothing')).toContain('no heading')
    expect(faultOf('docs/README.md', 'concepts.md#api-keys')).toBeNull()
  })
})

describe('a page that code names', () => {
  const named = repositoryFiles
    .filter((path) => /\.(ts|mjs)$/.test(path) && path !== 'scripts/links.test.ts')
    .flatMap((file) =>
      [...readText(file).matchAll(/Source:[\s\S]*?\b(docs\/[\w/-]+\.md)(?: "([^"]+)")?/g)].map(
        ([, page = '', heading]) => ({ file, page, heading }),
      ),
    )

  it('is there, with the heading', () => {
    const faults = named.filter(
      ({ page, heading }) => !pages.includes(page) || (heading !== undefined && !headingsOf(page).includes(heading)),
    )
    expect(faults).toEqual([])
    expect(named.length).toBeGreaterThan(20)
  })
})

describe('every page of docs', () => {
  it('is reached from docs/README.md', () => {
    const index = proseOf('docs/README.md')
    const missing = pages.filter((page) => /^docs\/(?!README)/.test(page) && !index.includes(`](${page.slice(5)})`))
    expect(missing).toEqual([])
  })
})
