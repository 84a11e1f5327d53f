/** An editor for JSON. Its code is large, so that only lazily loaded pages import it. */
import { autocompletion, type CompletionSource } from '@codemirror/autocomplete'
import { json, jsonLanguage } from '@codemirror/lang-json'
import { lintGutter, setDiagnostics } from '@codemirror/lint'
import { Compartment, EditorState } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { useComputedColorScheme } from '@mantine/core'
import { basicSetup } from 'codemirror'
import { type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef } from 'react'
import { codeTheme } from './code-theme'
import classes from './json-editor.module.css'
import type { TextRange } from './json-tree'

/** An error or a warning about a part of the text. */
export interface TextProblem extends TextRange {
  readonly severity: 'error' | 'warning'
  readonly message: string
}

export interface JsonEditorHandle {
  /** Selects a part of the text and scrolls to it. */
  show(range: TextRange, options?: { readonly isFocused: boolean }): void
}

export interface JsonEditorProps {
  readonly label: string
  readonly text: string
  readonly onChange: (text: string) => void
  readonly problems?: readonly TextProblem[]
  /** Read once, when the editor is created. */
  readonly complete?: CompletionSource
  /** For Ctrl+S or ⌘S. */
  readonly onSave?: () => void
  readonly size: 'small' | 'large'
  readonly ref?: Ref<JsonEditorHandle>
}

const NO_PROBLEMS: readonly TextProblem[] = []

export function JsonEditor(props: JsonEditorProps) {
  const { label, text, problems = NO_PROBLEMS, complete, size, ref } = props
  const isDark = useComputedColorScheme('light') === 'dark'
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const theme = useRef(new Compartment()).current
  const latest = useRef(props)
  latest.current = props

  // The effects below update the editor later.
  // biome-ignore lint/correctness/useExhaustiveDependencies: an editor is made once
  useEffect(() => {
    const made = new EditorView({
      parent: parent.current as HTMLDivElement,
      doc: latest.current.text,
      extensions: [
        keymap.of([{ key: 'Mod-s', run: () => save(latest.current), preventDefault: true }]),
        basicSetup,
        autocompletion({ icons: false }),
        json(),
        ...(complete === undefined ? [] : [jsonLanguage.data.of({ autocomplete: complete })]),
        lintGutter(),
        theme.of(codeTheme(isDark)),
        EditorState.tabSize.of(2),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          const now = state.doc.toString()
          if (docChanged && now !== latest.current.text) latest.current.onChange(now)
        }),
      ],
    })
    view.current = made
    return () => made.destroy()
  }, [])

  useEffect(() => view.current?.dispatch({ effects: theme.reconfigure(codeTheme(isDark)) }), [theme, isDark])

  // A layout effect: a later effect would undo what was typed since the rendering.
  useLayoutEffect(() => {
    const state = view.current?.state
    if (state !== undefined && state.doc.toString() !== text)
      view.current?.dispatch({ changes: changeBetween(state.doc.toString(), text) })
  }, [text])

  useEffect(() => {
    const state = view.current?.state
    if (state === undefined) return
    const { length } = state.doc
    const inText = problems.filter(({ to }) => to <= length)
    view.current?.dispatch(
      setDiagnostics(
        state,
        inText.map((problem) => ({ ...problem })),
      ),
    )
  }, [problems])

  useImperativeHandle(ref, () => ({
    show({ from, to }, { isFocused } = { isFocused: true }) {
      const length = view.current?.state.doc.length ?? 0
      const selection = { anchor: Math.min(from, length), head: Math.min(to, length) }
      view.current?.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: 'center' }) })
      if (isFocused) view.current?.focus()
    },
  }))

  return <div ref={parent} className={classes[size]} />
}

function save({ onSave }: JsonEditorProps): boolean {
  onSave?.()
  return true
}

/** Returns the differing part in the middle, so that the cursor keeps its place and undo reverts only this change. */
function changeBetween(before: string, after: string) {
  const most = Math.min(before.length, after.length)
  let from = 0
  while (from < most && before[from] === after[from]) from += 1
  let end = 0
  while (end < most - from && before.at(-1 - end) === after.at(-1 - end)) end += 1
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) }
}
