topic perform
title The pass of a perform polls; one in a nested run ends that run alone
source1 P
observer O before-waiting|after-waiting|exit
block K
block L
on K : performsource L default ; run default 1 yes
add P default ; add O default
performsource K default
run default 0.05 no
