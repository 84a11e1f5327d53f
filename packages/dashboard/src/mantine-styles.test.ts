/** The list of styles has those of every component of Mantine that a page uses. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const SRC = fileURLToPath(new URL('.', import.meta.url))
const STYLES = join(dirname(createRequire(import.meta.url).resolve('@mantine/core/styles.css')), 'styles')

/** What a component is made of, where its own name does not say it. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  Autocomplete: ['Input', 'Combobox'],
  Button: ['UnstyledButton', 'Loader'],
  Drawer: ['ModalBase', 'Overlay', 'CloseButton', 'ScrollArea', 'Paper'],
  Menu: ['Popover'],
  Modal: ['ModalBase', 'Overlay', 'CloseButton', 'ScrollArea', 'Paper'],
  MultiSelect: ['Input', 'Combobox', 'PillsInput', 'Pill'],
  NativeSelect: ['Input'],
  NumberInput: ['Input'],
  PasswordInput: ['Input', 'ActionIcon'],
  SegmentedControl: ['FloatingIndicator'],
  Select: ['Input', 'Combobox', 'Popover', 'ScrollArea'],
  Table: ['ScrollArea'],
  TagsInput: ['Input', 'Combobox', 'PillsInput', 'Pill'],
  TextInput: ['Input'],
  Textarea: ['Input'],
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => join(SRC, path))
const used = files
  .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)])
  .flatMap(([, names = '']) => names.split(','))
  .map((name) => name.trim())
const needed = [...new Set(used.flatMap((name) => [name, ...(PARTS[name] ?? [])]))].filter((name) =>
  existsSync(join(STYLES, `${name}.css`)),
)

it('is complete', () => {
  const listed = readFileSync(join(SRC, 'mantine-styles.css'), 'utf8')
  expect(needed.length).toBeGreaterThan(15)
  expect(needed.filter((name) => !new RegExp(`/${name}\\.css['"]`).test(listed))).toEqual([])
})
