/** How JSON looks in an editor. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { cspNonce } from '../../csp-nonce'

const highlight = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--log)' },
  { tag: tags.string, color: 'var(--allow)' },
  { tag: tags.number, color: 'var(--review)' },
  { tag: [tags.bool, tags.null], color: 'var(--deny)' },
])

const look = EditorView.theme({
  '&': {
    fontSize: '0.8125rem',
    border: '1px solid var(--line)',
    borderRadius: 'var(--mantine-radius-md)',
    backgroundColor: 'var(--mantine-color-body)',
    overflow: 'hidden',
  },
  '&.cm-focused': { outline: '2px solid var(--mantine-primary-color-filled)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'currentColor' },
  '&.cm-editor .cm-cursor': { borderLeftColor: 'currentColor' },
  '.cm-gutters': { backgroundColor: 'var(--soft)', color: 'var(--quiet)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'inherit', fontWeight: '600' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--soft)', border: '1px solid var(--line)', color: 'inherit' },
  '.cm-tooltip': {
    backgroundColor: 'var(--mantine-color-body)',
    color: 'inherit',
    border: '1px solid var(--line)',
    borderRadius: 'var(--mantine-radius-sm)',
    maxWidth: 'min(30rem, 90vw)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--mantine-primary-color-filled)',
    color: 'var(--mantine-primary-color-contrast)',
  },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '1' },
  '.cm-diagnostic': { overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' },
  '.cm-panels': { backgroundColor: 'var(--soft)', color: 'inherit' },
  '.cm-changedLine, .cm-insertedLine': { backgroundColor: 'var(--allow-soft) !important' },
  '.cm-deletedChunk': { backgroundColor: 'var(--deny-soft) !important' },
  '.cm-deletedChunk .cm-deletedText, .cm-changedText': { background: 'none !important', fontWeight: '700' },
  '.cm-collapsedLines': {
    background: 'var(--soft) !important',
    color: 'var(--quiet) !important',
  },
  // Many fonts lack the default character.
  '.cm-collapsedLines:before, .cm-collapsedLines:after': { content: '"⋯" !important' },
})

/** The extensions that every editor has. */
export function codeTheme(isDark: boolean): Extension {
  return [
    look,
    syntaxHighlighting(highlight),
    EditorView.darkTheme.of(isDark),
    EditorView.cspNonce.of(cspNonce),
    EditorView.lineWrapping,
  ]
}
