"""A large file, read by several processes: the same trace as one process makes of it.

orders       what a part of the text is, and where it lies;  seams  where a plain file is cut
slots        unpacked text that waits;  unpacking    a process that unpacks a gzip file ahead of the others
taking       events of a part -> columns;  reading  an order -> a part that is read
storing      columns of a part -> a file without a name, and back
worker       a process that reads parts;  team  all of them, from their start to their end
merging      parts -> the columns of the file
children     one of them, forked or started
whole        a path -> what one walk would have found

  file   |------- 0 -------|------- 1 -------|---- 2 ----|      cut where one process would cut
                |                  |               |
           this process         worker       this process      whoever is free takes the next
                |                  |               |
  columns  |== 0 ==|          |== 1 ==|        |= 2 =|         numbers of names are those of each process
                 \\_______________|________________/
  merged                |=== 0 1 2 ===|                        renumbered in the order of the file
"""
