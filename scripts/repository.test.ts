import { describe, expect, it } from 'vitest'
import { missingEntries } from './complete-lock.mjs'
import { readText, repositoryFiles } from './repository-files.js'

/** Folders of the machine that something was written on, and what lies beside the checkout: neither is the reader's. */
const FOREIGN_PLACES = ['/work/', '/root/', `${'../'}shared`]

/**
 * Packages that may have a script to be run at installation. None has: whatever `npm ci --ignore-scripts` leaves out,
 * we do not need.
 */
const MAY_HAVE_INSTALL_SCRIPT: string[] = []

interface Manifest {
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
interface LockFile {
  packages: Record<string, { version?: string; hasInstallScript?: boolean }>
}

describe('every file of the repository', () => {
  it('speaks of no place outside of it', () => {
    const self = 'scripts/repository.test.ts'
    const faults = repositoryFiles
      .filter((path) => path !== self)
      .flatMap((path) =>
        FOREIGN_PLACES.filter((place) => readText(path).includes(place)).map((place) => `${path}: ${place}`),
      )
    expect(repositoryFiles).toContain(self)
    expect(faults).toEqual([])
  })
})

describe('every text', () => {
  const SELF = 'scripts/repository.test.ts'
  /** Each of them has a plainer word: again, no matter who, this many, this long, unchanged, other than. */
  const UNPLAIN = [
    'anew',
    'whoever',
    'whosoever',
    'so many',
    'lies? behind',
    'for so long(?! that)',
    'so (?:long|often|much)(?=[.;:])',
    'as they came',
    'in no picture',
    '(?:some|any|no)body else than',
    'whatever it takes',
  ]
  /** In a page a noun fits better than the first ones, and a verb better than the last: the reader knows no context of the code. */
  const UNPLAIN_IN_PAGES = [
    '(?:some|any|every|no)body',
    'of (?:its|their) own(?=[.;:,)]| \\||$)',
    'meanwhile',
    'for good',
    '(?:is|are|be) told',
    '(?:has|have) to be',
    'any more(?! than| of)',
    '(?:go|goes|went) on',
    'unasked',
    'talked into',
  ]
  /** Sentences that a program shows: its pages, errors, warnings and help. */
  const UNPLAIN_IN_TEXTS = [
    'any more(?! than| of)',
    '(?<!:)(?:some|any|every|no)body',
    '(?:go|goes|went) on',
    'mend',
    '(?<!there )is no(?= [a-z])(?! longer)',
    '(?:has|have) to be',
    'of (?:its|their|your) own(?=[.;:,)])',
    'for good',
    'without a say',
  ]
  /** Comments of the rooms in which a native reader has gone through all of them. A value is returned or contained, a caller named. */
  const UNPLAIN_IN_COMMENTS = [
    '(?:some|any|every|no)body',
    'any more(?! than| of)',
    '(?:go|goes|went) on',
    '(?:has|have) to be',
    'of (?:its|their|his) own(?=[.;:,)]| \\*/)',
    'for good',
    'meanwhile',
    'what (?:becomes|became) of',
    '(?:is|are|be) told',
    '(?:tell|tells|told) of',
    'one after the other',
    '(?:a|no) say in',
    'what becomes',
    'so much is',
    '(?:are|is) over at',
  ]
  const PLAIN_ROOMS = /^(?:server|packages\/(?!testkit\/)[^/]+|integrations\/[^/]+)\/src\/.*\.tsx?$/
  /** One is what programs print. The tables of the other are walked by tests, which name the edits of an intruder as they are. */
  const EXEMPT = ['docs/benchmarks.md', 'docs/security.md']
  const isGuide = (path: string) =>
    /^(?:docs\/.*|(?:.*\/)?README|CONTRIBUTING|SECURITY)\.md$/.test(path) && !EXEMPT.includes(path)

  it('says it in plain English', () => {
    const texts = repositoryFiles.filter((path) => path !== SELF && !path.endsWith('package-lock.json'))
    expect(unwrapped('/** An end that\n   * goes. */\n// Two')).toBe('/** An end that goes. */ Two')
    expect(texts.flatMap((path) => unplain(path, readText(path), UNPLAIN))).toEqual([])
  })

  it('of a guide does so with nouns and verbs that say who does what', () => {
    const guides = repositoryFiles.filter(isGuide)
    expect(guides.length).toBeGreaterThan(40)
    expect(guides.flatMap((path) => unplain(path, withoutCode(readText(path)), UNPLAIN_IN_PAGES))).toEqual([])
  })

  it('that a program shows says it in the same way', () => {
    const sources = repositoryFiles.filter((path) => /^(?:packages|integrations|server)\/.*src\/.*\.tsx?$/.test(path))
    const shown = sources.filter((path) => !/\.test\.ts$|^packages\/testkit\//.test(path))
    expect(shown.length).toBeGreaterThan(500)
    expect(shown.flatMap((path) => unplain(path, withoutComments(readText(path)), UNPLAIN_IN_TEXTS))).toEqual([])
    expect(withoutComments("/** Goes on. */ 'a' // goes on\n'b'")).not.toContain('on')
  })

  it('of a comment names what a value is and who acts', () => {
    const sources = repositoryFiles.filter((path) => PLAIN_ROOMS.test(path) && !path.endsWith('.test.ts'))
    expect(sources.length).toBeGreaterThan(500)
    expect(sources.flatMap((path) => unplain(path, commentsOf(readText(path)), UNPLAIN_IN_COMMENTS))).toEqual([])
    expect(commentsOf("/** Goes\n * on. */ 'a' // b\n'https://c'")).toBe('/** Goes\n * on. */\n // b')
  })

  it('is searched with its lines joined, and without its code', () => {
    expect(unplain('a', 'Each has one of its\nown. They have their own.', UNPLAIN_IN_PAGES)).toEqual(['a: of its own'])
    expect(unplain('a', withoutCode('One `somebody`.\n```\nnobody\n```\n'), UNPLAIN_IN_PAGES)).toEqual([])
  })

  function unplain(path: string, text: string, words: readonly string[]): string[] {
    const pattern = new RegExp(`\\b(?:${words.join('|')})(?!\\w)`, 'gi')
    return [...unwrapped(text).matchAll(pattern)].map(([word]) => `${path}: ${word}`)
  }

  function withoutCode(page: string): string {
    return page.replaceAll(/^ *(```+)[\s\S]*?^ *\1$/gm, '').replaceAll(/`[^`\n]+`/g, '``')
  }

  function withoutComments(source: string): string {
    return source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1')
  }

  function commentsOf(source: string): string {
    return (source.match(/\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm) ?? []).join('\n')
  }

  /** Two words of a list may stand on two lines, of a page or of a comment. */
  function unwrapped(text: string): string {
    return text.replaceAll(/\n[ \t]*(?:(?:\/\/|\*(?!\/)|#|-)[ \t]+)?/g, ' ')
  }
})

describe('every policy that a reader copies', () => {
  const shown = (path: string) =>
    /\.md$/.test(path) || path.startsWith('examples/') || path === 'docs/reference/openapi.json'
  const UPPER_BOUND_ALONE = /context\.amount["']?:\s*\{\s*["']?\$lte?\b/

  it('bounds an amount from below, too: -5000 is at most 100', () => {
    const pages = repositoryFiles.filter(shown)
    expect(pages.filter((path) => readText(path).includes('$lte')).length).toBeGreaterThan(8)
    expect(pages.filter((path) => UPPER_BOUND_ALONE.test(readText(path)))).toEqual([])
  })
})

describe('every dependency', () => {
  const manifests = repositoryFiles.filter((path) => /(^|\/)package\.json$/.test(path) && !path.includes('/fixtures/'))
  const locks = repositoryFiles.filter((path) => path.endsWith('package-lock.json'))
  const lockOf = (path: string) => JSON.parse(readText(path)) as LockFile

  it('has an exact version (a peer dependency may be a range)', () => {
    const faults = manifests.flatMap((path) => {
      const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readText(path)) as Manifest
      return Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
        .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${path}: ${name} ${version}`)
    })
    expect(manifests.length).toBeGreaterThan(7)
    expect(faults).toEqual([])
  })

  it('works without a script run at its installation', () => {
    const scripted = locks.flatMap((path) =>
      Object.entries(lockOf(path).packages).filter(([, entry]) => entry.hasInstallScript),
    )
    expect(locks).toEqual(['package-lock.json', 'tools/lost-answers/package-lock.json'])
    expect(scripted.map(([path]) => path)).toEqual(MAY_HAVE_INSTALL_SCRIPT)
  })

  it('is in the lock file for every platform (else: node scripts/complete-lock.mjs)', () => {
    expect(locks.map((path) => missingEntries(lockOf(path)))).toEqual(locks.map(() => ({})))
  })
})

describe('the lock file check', () => {
  it('finds an optional package that npm left out, with the platform that its name says', () => {
    const packages = {
      'node_modules/a': { dev: true, optionalDependencies: { '@a/linux-x64-musl': '1.0.0', '@a/windows-64': '1.0.0' } },
      'node_modules/@a/windows-64': { version: '1.0.0' },
    }
    expect(missingEntries({ packages })).toEqual({
      'node_modules/@a/linux-x64-musl': {
        version: '1.0.0',
        cpu: ['x64'],
        dev: true,
        libc: ['musl'],
        optional: true,
        os: ['linux'],
      },
    })
  })
})
