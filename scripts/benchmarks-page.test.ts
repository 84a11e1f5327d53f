import { expect, it } from 'vitest'
import { methodOf, readPage, writePage } from './benchmarks-page.mjs'
import { readText, repositoryFiles } from './repository-files.js'

const PAGE = 'docs/benchmarks.md'
const page = readText(PAGE)
const parts = readPage(page)

const benches = repositoryFiles.flatMap((path) => {
  const [, name] = /^bench\/([\w-]+)\.mjs$/.exec(path) ?? []
  return name === undefined || name === 'run' ? [] : [name]
})

it(`${PAGE} has the form that npm run bench writes`, () => {
  expect(writePage(parts)).toBe(page)
  expect(writePage(readPage(`${page}what nobody generated`))).not.toContain('what nobody generated')
})

it(`${PAGE} has a section of each bench, with the method that its script tells (else: npm run bench -- <name>)`, () => {
  const methods = benches.map((name) => [name, methodOf(readText(`bench/${name}.mjs`))])
  expect(parts.sections.map(({ name, method }) => [name, method])).toEqual(methods.sort())
  expect(methods.every(([, method = '']) => method.length > 50)).toBe(true)
})

it(`${PAGE} says by hand why a goal of the decision path was missed, and of no other goal`, () => {
  const output = parts.sections.find(({ name }) => name === 'http')?.output ?? ''
  const goals = [...output.matchAll(/^(.+?) {2,}\S+(?: \S+)? +[<>]= \S+(?: \S+)? +(met|missed)$/gm)]
  const missed = goals.filter(([, , verdict]) => verdict === 'missed').map(([, goal]) => goal)
  const [, reasons = ''] = /^## What misses its goal\n([\s\S]*?)^## /m.exec(parts.introduction) ?? []
  const explained = [...reasons.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, goal]) => goal)
  expect(explained).toEqual(missed)
  expect(goals.length).toBeGreaterThan(5)
})
