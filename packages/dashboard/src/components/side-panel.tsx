import { Drawer } from '@mantine/core'
import type { ReactNode } from 'react'

export interface SidePanelProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** Mounted again each time the panel opens. */
  readonly children: ReactNode
}

/** A panel that slides over the right side of the page. */
export function SidePanel({ title, isOpen, onClose, children }: SidePanelProps) {
  return (
    <Drawer.Root opened={isOpen} onClose={onClose} position="right" size="lg" transitionProps={{ duration: 0 }}>
      <Drawer.Overlay />
      <Drawer.Content>
        {/* A dialog has no banner landmark. */}
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
