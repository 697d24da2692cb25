"""Container images, made from lists of files by this code alone: no daemon, no registry.

    files       what goes into an image, as values
    elf         which libraries a program needs
    oci         the image as an archive
    debian      which package a file of this machine comes from
    sbom        the list of what is in it, for people who look for vulnerable versions
    suite       the images of this project
    dockerfile  the same for those who have Docker
"""
