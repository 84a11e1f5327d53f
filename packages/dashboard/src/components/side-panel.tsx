import { Drawer } from '@mantine/core'
import type { ReactNode } from 'react'

export interface SidePanelProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** It is made anew each time the panel opens. */
  readonly children: ReactNode
}

/** Something beside the page, for a moment. */
export function SidePanel({ title, isOpen, onClose, children }: SidePanelProps) {
  return (
    <Drawer.Root opened={isOpen} onClose={onClose} position="right" size="lg" transitionProps={{ duration: 0 }}>
      <Drawer.Overlay />
      <Drawer.Content>
        {/* A dialog has no banner. */}
        <Drawer.Header role="presentation">
          <Drawer.Title fw={650} fz="lg" style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Drawer.Title>
          <Drawer.CloseButton aria-label="Close" />
        </Drawer.Header>
        <Drawer.Body>{children}</Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  )
}
