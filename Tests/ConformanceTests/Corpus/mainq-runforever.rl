topic mainq
title The main loop's endless run does not return although it has no items
slow 2
thread main:
at 80: note stopping; stop
runforever
--- golden
runforever
ext: note stopping
ranforever
end
