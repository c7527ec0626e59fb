/* In place of the theme's: its fonts hold the icons, and this script of 1.5 MB would draw the same ones again. */
