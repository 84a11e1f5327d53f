// Replaces dist/wire.d.ts, which points at @countersign/contract, by the same types written out in full. So the published
// declarations need no other package: not the contract, and not the schema library that its types are inferred from.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = `${root}dist/wire.d.ts`

const { StringLike: STRING, NumberLike: NUMBER, BooleanLike: BOOLEAN } = ts.TypeFlags

const config = ts.getParsedCommandLineOfConfigFile(
  `${root}tsconfig.json`,
  {},
  { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail },
)
const program = ts.createProgram([`${root}src/wire.ts`], { ...config.options, noEmit: true })
const [problem] = ts.getPreEmitDiagnostics(program)
if (problem) fail(problem)
const checker = program.getTypeChecker()

/** Declared types by name: those that wire.ts exports, and those of the contract that they turn out to need. */
const names = new Map()
const generics = new Map()
for (const symbol of checker.getExportsOfModule(moduleOf(`${root}src/wire.ts`))) {
  name(checker.getAliasedSymbol(symbol))
}
// JSON types hold themselves, so they can only be written by name.
for (const symbol of checker.getExportsOfModule(moduleOf(contractFile('json.d.ts')))) {
  if (symbol.flags & ts.SymbolFlags.TypeAlias) name(symbol)
}
const comments = new Map(
  checker
    .getExportsOfModule(moduleOf(contractFile('index.d.ts')))
    .map((symbol) => [symbol.name, documentation(symbol)]),
)

const written = [...names].map(([type, symbol]) => {
  // A type that is inferred from a schema has its comment there.
  const comment = comments.get(symbol.name) || comments.get(`${symbol.name}Schema`) || ''
  return `${comment}export ${declaration(symbol, type)}\n`
})
for (const symbol of generics.values()) written.push(`${documentation(symbol)}export ${sourceOf(symbol)}\n`)
// Left as it is where nothing changed: a build that is up to date keeps its times.
const text = written.join('\n')
if (readFileSync(target, 'utf8') !== text) writeFileSync(target, text)

function name(symbol) {
  // A generic type is copied as it stands in the contract, where it is made of its own parameters alone.
  if (symbol.declarations.some((one) => one.typeParameters?.length)) {
    generics.set(symbol.name, symbol)
  } else {
    names.set(checker.getDeclaredTypeOfSymbol(symbol), symbol)
  }
}

function declaration(symbol, type) {
  if (symbol.flags & ts.SymbolFlags.Interface) return `interface ${symbol.name} ${members(type)}`
  return `type ${symbol.name} = ${print(type, true)}`
}

function sourceOf(symbol) {
  const [node] = symbol.declarations
  return node.getText().replace(/^(export |declare )+/, '')
}

/** The type as text; by its name where it has one, unless it is the one being declared. */
function print(type, isDeclared = false) {
  if (!isDeclared) {
    const named = nameOf(type)
    if (named) return named
  }
  if (type.isUnion()) return union(type)
  if (checker.isArrayType(type) || isReadonlyArray(type)) {
    const [item] = checker.getTypeArguments(type)
    const text = print(item)
    return `${isReadonlyArray(type) ? 'readonly ' : ''}${/[|&]/.test(text) && !text.startsWith('{') ? `(${text})` : text}[]`
  }
  if (type.flags & ts.TypeFlags.Object) return members(type)
  const isPlain =
    type.flags & (STRING | NUMBER | BOOLEAN | ts.TypeFlags.Null | ts.TypeFlags.Undefined | ts.TypeFlags.Unknown)
  if (!isPlain) fail(`cannot write out ${checker.typeToString(type)}`)
  return checker.typeToString(type, undefined, ts.TypeFormatFlags.NoTruncation)
}

/** Inference makes a new copy of a type at each place, so a type is also known by what it looks like. */
function nameOf(type) {
  const own = names.get(type)
  if (own) return own.name
  const isObject = type.flags & ts.TypeFlags.Object && !checker.isArrayType(type) && !isReadonlyArray(type)
  if (!isObject && !type.isUnion()) return undefined
  return [...names].find(([other]) => isSame(type, other))?.[1].name
}

function isSame(left, right) {
  if (keysOf(left) !== keysOf(right)) return false
  return checker.isTypeAssignableTo(left, right) && checker.isTypeAssignableTo(right, left)
}

function keysOf(type) {
  if (type.isUnion()) return 'union'
  return checker
    .getPropertiesOfType(type)
    .map((property) => property.name)
    .sort()
    .join()
}

function isReadonlyArray(type) {
  return type.symbol?.name === 'ReadonlyArray'
}

function union(type) {
  const parts = type.types.map((part) => print(part))
  const isBoolean = parts.includes('true') && parts.includes('false')
  const shown = isBoolean ? [...parts.filter((part) => part !== 'true' && part !== 'false'), 'boolean'] : parts
  // What may be absent is said last.
  const late = ['null', 'undefined']
  return [...shown.filter((part) => !late.includes(part)), ...late.filter((part) => shown.includes(part))].join(' | ')
}

function members(type) {
  const lines = checker
    .getIndexInfosOfType(type)
    .map((info) => `  ${info.isReadonly ? 'readonly ' : ''}[key: ${print(info.keyType)}]: ${print(info.type)}`)
  for (const property of checker.getPropertiesOfType(type)) {
    const optional = property.flags & ts.SymbolFlags.Optional ? '?' : ''
    const key = /^[A-Za-z_$][\w$]*$/.test(property.name) ? property.name : JSON.stringify(property.name)
    const comment = documentation(property, '  ')
    lines.push(
      `${comment}  readonly ${key}${optional}: ${print(checker.getTypeOfSymbol(property)).replaceAll('\n', '\n  ')}`,
    )
  }
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n}`
}

function documentation(symbol, indent = '') {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker))
  if (text === '') return ''
  const lines = text.split('\n')
  if (lines.length === 1) return `${indent}/** ${text} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

function moduleOf(file) {
  return checker.getSymbolAtLocation(program.getSourceFile(file)) ?? fail(`${file} is no module`)
}

function contractFile(base) {
  const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith(`/contract/dist/${base}`))
  return file?.fileName ?? fail(`the contract has no ${base}`)
}

function fail(what) {
  console.error(typeof what === 'string' ? what : ts.flattenDiagnosticMessageText(what.messageText, '\n'))
  process.exit(1)
}
